package server

import (
	"context"
	"errors"
	"iter"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/history"
	"github.com/muster-project/muster/session"
	storage "github.com/muster-project/muster/storage/local"
)

// view replays a job's journal. Its Seq is 0 while there is none.
func (s *Server) view(ctx context.Context, j *job) (session.View, error) {
	state := session.New(session.Options{})
	for e, err := range history.Read(ctx, storage.FS{}, j.dir(), 1) {
		if err != nil {
			return session.View{}, s.discreet(j, err)
		}
		state.Evolve(e)
	}
	return state.View(), nil
}

// lines gives the journal as it is stored; with follow it waits for more until
// the job is sealed.
// Keys of addresses are for the owner.
func (s *Server) lines(ctx context.Context, j *job, from int64, follow, keys bool) iter.Seq2[[]byte, error] {
	read := history.Read
	if follow {
		read = history.Follow
	}
	return func(yield func([]byte, error) bool) {
		for e, err := range read(ctx, storage.FS{}, j.dir(), from) {
			var line []byte
			if err == nil && !keys {
				e = keylessEvent(e)
			}
			if err == nil {
				line, err = event.Marshal(e)
			}
			if !yield(line, s.discreet(j, err)) || err != nil {
				return
			}
		}
	}
}

// discreet keeps an error from telling a user what root alone may read: what
// stands in a user's directory may be a link to it.
func (s *Server) discreet(j *job, err error) error {
	if err == nil || j.owner.UID == s.self.UID {
		return err
	}
	return errors.New("journal: cannot be read by this server")
}
