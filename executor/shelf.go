package executor

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/muster-project/muster/process/capture"
)

// shelf shows the logs of an incarnation in a directory of the node, whose own
// tools look there: as hard links, so that nothing is stored twice and what
// rotates away goes there too. A directory on another file system gets a copy at
// the end.
//
//	logs/0.out   → dir/worker-0.1.0.out
//	logs/0.out.1 → dir/worker-0.1.0.out.1
type shelf struct {
	logs, dir, prefix string
	log               *slog.Logger
}

// shelveEvery is how often new and rotated logs are looked for.
const shelveEvery = time.Second

// run shows the logs until the incarnation has ended, and once more.
func (s shelf) run(ctx context.Context, ended <-chan struct{}) {
	tick := time.NewTicker(shelveEvery)
	defer tick.Stop()
	for told := false; ; {
		err := s.link()
		if err != nil && !told {
			told = true
			s.log.Warn("logs cannot be shown while the task runs", "dir", s.dir, "error", err)
		}
		select {
		case <-tick.C:
			continue
		case <-ended:
		case <-ctx.Done():
		}
		break
	}
	if err := s.link(); err != nil {
		if err := s.copy(); err != nil {
			s.log.Warn("logs cannot be shown", "dir", s.dir, "error", err)
		}
	}
}

// names are the logs and what they are called in the directory.
func (s shelf) names() map[string][]string {
	entries, err := os.ReadDir(s.logs)
	if err != nil {
		return nil
	}
	out := map[string][]string{}
	for _, e := range entries {
		if logName().MatchString(e.Name()) {
			out[e.Name()] = capture.Parts(filepath.Join(s.logs, e.Name()))
		}
	}
	return out
}

// link makes the directory's links those of the logs.
func (s shelf) link() error {
	var wrong []error
	for stream, parts := range s.names() {
		if s.linked(stream, parts) {
			continue
		}
		// After a rotation every name is another file's.
		old, _ := filepath.Glob(filepath.Join(s.dir, s.prefix+stream+"*"))
		for _, name := range old {
			if err := os.Remove(name); err != nil {
				wrong = append(wrong, err)
			}
		}
		for _, part := range parts {
			wrong = append(wrong, s.linkOne(part))
		}
	}
	return errors.Join(wrong...)
}

func (s shelf) linkOne(part string) error {
	if err := os.Link(part, s.at(part)); err != nil {
		return err
	}
	// Whoever collects them may be another user; the directory above says who may
	// come here at all.
	return os.Chmod(part, 0o644)
}

// at is what a log is called in the directory.
func (s shelf) at(part string) string { return filepath.Join(s.dir, s.prefix+filepath.Base(part)) }

// linked says that a stream's links are what they should be.
func (s shelf) linked(stream string, parts []string) bool {
	old, _ := filepath.Glob(filepath.Join(s.dir, s.prefix+stream+"*"))
	if len(old) != len(parts) {
		return false
	}
	for _, part := range parts {
		a, errA := os.Stat(part)
		b, errB := os.Stat(s.at(part))
		if errA != nil || errB != nil || !os.SameFile(a, b) {
			return false
		}
	}
	return true
}

// copy makes copies where no links can be.
func (s shelf) copy() error {
	var wrong []error
	for stream, parts := range s.names() {
		if s.linked(stream, parts) {
			continue
		}
		for _, part := range parts {
			wrong = append(wrong, copyFile(part, s.at(part)))
		}
	}
	return errors.Join(wrong...)
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|syscall.O_NOFOLLOW, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
