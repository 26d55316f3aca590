package wire

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/muster-project/muster/event"
)

// Torn begins what Attach says when the connection ended before the call did: the
// executor at the other side has gone, or its machine.
const Torn = "call is torn"

// Attach is the caller's part of a call: in goes to the command, its output to
// out and errs, names of signals to its group. It returns how the command ended,
// or ErrCall if it never began. When ctx is done, the call
// is torn and the command is ended at the other side.
//
// A reader that cannot be interrupted, as standard input, is left to itself: its
// goroutine ends with the reader or the process. in may be nil.
func (s *Stream) Attach(ctx context.Context, in io.Reader, out, errs io.Writer, signals <-chan string) (event.Exit, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, s.Abort)
	defer stop()
	defer s.Abort()
	credit := make(chan struct{}, Window)
	go s.feed(ctx, in, credit)
	ended := make(chan struct{})
	defer func() { <-ended }()
	go func() {
		defer close(ended)
		s.pass(ctx, signals)
	}()
	defer cancel() // before the wait above
	for {
		f, err := s.Recv()
		if err != nil {
			return event.Exit{}, fmt.Errorf("%s: %w", Torn, errors.Join(context.Cause(ctx), torn(err)))
		}
		for range min(f.Taken, Window) {
			select {
			case <-credit:
			default:
			}
		}
		if err := errors.Join(put(out, f.Stdout), put(errs, f.Stderr)); err != nil {
			return event.Exit{}, err
		}
		switch {
		case f.Refused != "":
			return event.Exit{}, fmt.Errorf("%w: %s", ErrCall, f.Refused)
		case f.Exit != nil:
			return *f.Exit, nil
		}
	}
}

func put(w io.Writer, data []byte) error {
	if len(data) == 0 {
		return nil
	}
	_, err := w.Write(data)
	return err
}

// feed sends in, no more than the window at a time.
func (s *Stream) feed(ctx context.Context, in io.Reader, credit chan struct{}) {
	buf := make([]byte, Chunk)
	for in != nil {
		n, err := in.Read(buf)
		if n > 0 {
			select {
			case credit <- struct{}{}:
			case <-ctx.Done():
				return
			}
			if s.Send(Flow{Stdin: buf[:n]}) != nil {
				return
			}
		}
		if err != nil {
			break
		}
	}
	_ = s.Send(Flow{StdinEnd: true})
}

// pass sends signals.
func (s *Stream) pass(ctx context.Context, signals <-chan string) {
	for {
		select {
		case name := <-signals:
			if s.Send(Flow{Signal: name}) != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}
