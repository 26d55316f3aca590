package cli

import (
	"context"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"
)

// Env is everything a verb may take from its process. Verbs never touch the
// process itself, so a whole command can run inside a test.
type Env struct {
	Args    []string // with the program's name, as in os.Args
	Environ []string // as in os.Environ
	Dir     string   // working directory
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Signals <-chan os.Signal
	Now     func() time.Time

	at        string // --on of verbs that look at jobs: where else than in the notes of this machine
	user      string // --user: whose jobs, on a cluster
	keytab    string // --keytab
	principal string // --principal
	// tending is the log of the server that tends jobs, nil in other verbs.
	tending *slog.Logger
}

// notified are the signals that a verb may want to know of. One that was
// ignored when we started (nohup, a background job of a plain shell) stays so.
var notified = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGWINCH}

// Notify starts the delivery of signals for Env.Signals.
func Notify() <-chan os.Signal {
	c := make(chan os.Signal, 16)
	for _, s := range notified {
		if !signal.Ignored(s) {
			signal.Notify(c, s)
		}
	}
	return c
}

// Getenv returns the value of a variable, the last one if it is there twice.
func (e *Env) Getenv(name string) string {
	v, _ := e.Lookup(name)
	return v
}

// Lookup returns a variable and whether it is set.
func (e *Env) Lookup(name string) (string, bool) {
	for i := len(e.Environ) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(e.Environ[i], name+"="); ok {
			return v, true
		}
	}
	return "", false
}

// Interactive says that both questions and answers reach a person.
func (e *Env) Interactive() bool { return isTerminal(e.Stdin) && isTerminal(e.Stderr) }

// Color says whether output to w may be coloured.
func (e *Env) Color(w io.Writer) bool {
	return e.Getenv("NO_COLOR") == "" && e.Getenv("TERM") != "dumb" && isTerminal(w)
}

// Size is the terminal's width and height: of w if it is one, else from
// COLUMNS and LINES, else 80 × 24.
func (e *Env) Size(w io.Writer) (width, height int) {
	width, height = atoi(e.Getenv("COLUMNS"), 80), atoi(e.Getenv("LINES"), 24)
	if f, ok := w.(*os.File); ok {
		if tw, th, err := term.GetSize(int(f.Fd())); err == nil && tw > 0 && th > 0 {
			return tw, th
		}
	}
	return width, height
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// until gives a context that ends on the first INT, TERM or HUP. The cause is
// an interruption that knows its signal. Call stop before Signals is read by
// anybody else.
func (e *Env) until(ctx context.Context) (c context.Context, stop func()) {
	c, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-c.Done():
				return
			case s := <-e.Signals:
				if n, ok := s.(syscall.Signal); ok && n != syscall.SIGWINCH {
					cancel(interruption{n})
					return
				}
			}
		}
	}()
	return c, func() { cancel(nil); <-done }
}

// interruption is the end of a verb by a signal to itself.
type interruption struct{ signal syscall.Signal }

func (i interruption) Error() string { return "interrupted by " + i.signal.String() }
