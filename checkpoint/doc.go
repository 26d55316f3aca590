// Package checkpoint keeps the checkpoint directories of a job's tasks alike and
// alive where nodes share no file system: a local directory and a directory of a
// storage.FS come in, and files go both ways between them.
//
//	<dir>/data/<sha256>           contents, each once
//	<dir>/<task>.<number>.json    what one task has written: the newest counts
//
// Every file has a version, one higher than any that its writer had seen. The
// highest version of a path is what all tasks get; of equal ones that of the
// task whose name comes last, so all choose alike. A file is published once it
// has not changed between two looks, all that changed together, and is put in
// place by renaming, older files first: a pointer to a checkpoint never arrives
// before the checkpoint.
package checkpoint
