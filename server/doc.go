// Package server is "muster serve": submissions and questions come in over a
// unix socket, coordinators are started, watched and started again, and the
// local engine's grants go out.
//
// It keeps nothing that its death would lose: jobs are directories, claims are
// files, and coordinators are processes of their own that ask again.
//
//	<state>/
//	  serve.lock  serve.sock  serve.log
//	  jobs/<id>/  blobs/<sha256>               a user's own server
//	  users/<uid>/jobs/<id>/  …/blobs/<sha256> an administrator's: owned by the user
//	  owners/<id>.json                         an administrator's: who a job runs as
package server
