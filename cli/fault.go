package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/storage"
)

// Fault is an error that knows its exit status and its hints.
type Fault struct {
	Code  int
	Err   error
	Hints []string
}

func (f *Fault) Error() string { return f.Err.Error() }

// Unwrap gives the cause to errors.Is and errors.As.
func (f *Fault) Unwrap() error { return f.Err }

// hint adds a line that says what to do.
func (f *Fault) hint(format string, args ...any) *Fault {
	if len(args) > 0 {
		format = fmt.Sprintf(format, args...)
	}
	f.Hints = append(f.Hints, format)
	return f
}

func fault(code int, err error) *Fault { return &Fault{Code: code, Err: err} }

func faultf(code int, format string, args ...any) *Fault {
	return &Fault{Code: code, Err: fmt.Errorf(format, args...)}
}

// verdictStatus ends a command with a job's status; all has been said already.
type verdictStatus int

func (s verdictStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// hinter is what errors of other packages implement to carry a hint.
type hinter interface{ Hint() string }

// report prints an error in muster's voice and gives the exit status.
func (e *Env) report(err error) int {
	var status verdictStatus
	var stop interruption
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &status):
		return int(status)
	case errors.As(err, &stop):
		return 128 + int(stop.signal)
	case errors.Is(err, syscall.EPIPE):
		return 128 + int(syscall.SIGPIPE) // the reader went away: nobody is left to tell
	}
	code := 0
	for _, one := range flatten(err) {
		tell(e.Stderr, one)
		if code == 0 {
			code = codeOf(one) // the first problem is the first to be repaired
		}
	}
	return code
}

// tell prints one problem: its text, then its hints. Packages below write hints
// as lines of their error's text; here each finds its place.
func tell(w io.Writer, err error) {
	var text, hints []string
	for line := range strings.SplitSeq(strings.TrimSpace(err.Error()), "\n") {
		if h, ok := strings.CutPrefix(strings.TrimSpace(line), "hint: "); ok {
			hints = append(hints, h)
		} else {
			text = append(text, strings.TrimRight(line, " "))
		}
	}
	fmt.Fprintf(w, "muster: %s\n", strings.Join(text, "\n  "))
	for _, h := range append(hints, hintsOf(err)...) {
		if !slices.Contains(text, h) {
			text = append(text, h)
			fmt.Fprintf(w, "hint: %s\n", h)
		}
	}
}

// flatten takes joined errors apart, so that each problem is a line of its own.
// Problems inside a fault have its status; its hints follow the last.
func flatten(err error) []error {
	switch e := err.(type) { //nolint:errorlint // this very error is meant, not one inside it
	case interface{ Unwrap() []error }:
		if !isList(err, e.Unwrap()) {
			break
		}
		var all []error
		for _, one := range e.Unwrap() {
			all = append(all, flatten(one)...)
		}
		return all
	case *Fault:
		inner := flatten(e.Err)
		if len(inner) < 2 {
			break
		}
		for i := range inner {
			inner[i] = fault(e.Code, inner[i])
		}
		inner[len(inner)-1] = &Fault{Code: e.Code, Err: inner[len(inner)-1], Hints: e.Hints}
		return inner
	}
	return []error{err}
}

// isList says that an error is a list of others and says nothing of its own: one
// sentence may have several causes, and stays one.
func isList(err error, parts []error) bool {
	var lines []string
	for _, one := range parts {
		if one != nil {
			lines = append(lines, one.Error())
		}
	}
	return err.Error() == strings.Join(lines, "\n")
}

func hintsOf(err error) []string {
	var hints []string
	seen := map[string]bool{}
	add := func(h string) {
		for line := range strings.SplitSeq(h, "\n") {
			if line = strings.TrimSpace(line); line != "" && !seen[line] {
				seen[line] = true
				hints = append(hints, line)
			}
		}
	}
	for ; err != nil; err = errors.Unwrap(err) {
		switch e := err.(type) { //nolint:errorlint // each layer is looked at by itself
		case *Fault:
			for _, h := range e.Hints {
				add(h)
			}
		case hinter:
			add(e.Hint())
		}
	}
	return hints
}

// codeOf is the exit status of an error: its own if it has one, else what its
// kind means. What nobody classified is our fault.
func codeOf(err error) int {
	var f *Fault
	switch {
	case errors.As(err, &f):
		return f.Code
	case errors.Is(err, context.DeadlineExceeded):
		return exitTimeout
	case errors.Is(err, context.Canceled):
		return exitStopped
	case errors.Is(err, os.ErrPermission), errors.Is(err, syscall.ENOSPC), errors.Is(err, storage.ErrAway), errors.Is(err, backend.ErrUnusable):
		return exitRefused
	}
	return exitInternal
}
