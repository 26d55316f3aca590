package keep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-project/muster/process/capture"
)

// place is one incarnation of a mirror, on this machine: the logs, and beside
// them how far its chunks were read.
//
//	<local>/tasks/<task>/<incarnation>/logs/N.out …
//	                                  /kept         {"next": 3, "final": false}
//
// Several processes may keep one place up to date: whoever adds to it holds its
// lock and looks anew where it stands.
type place struct {
	task        string
	incarnation int
	dir         string

	busy chan struct{} // of size 1: a token while this process holds the lock

	mu      sync.Mutex
	streams map[string]bool // watched ones; true: heard live to the end
	asked   map[string]bool // watched ones that somebody listens to
	final   bool            // nothing more can come
}

// kept is how far the chunks of a place were read.
type kept struct {
	Next  int  `json:"next"`
	Final bool `json:"final,omitempty"`
}

const (
	keptFile = "kept"
	lockFile = ".lock"
)

func newPlace(local, task string, incarnation int) *place {
	return &place{task: task, incarnation: incarnation, dir: filepath.Join(local, "tasks", task, strconv.Itoa(incarnation)),
		busy: make(chan struct{}, 1), streams: map[string]bool{}, asked: map[string]bool{}}
}

// String names it for people.
func (p *place) String() string { return fmt.Sprintf("%s.%d", p.task, p.incarnation) }

// lockEvery is how often a place that another process holds is asked for.
const lockEvery = 50 * time.Millisecond

// lock waits until this process may add to the place.
func (p *place) lock(ctx context.Context) (unlock func(), err error) {
	select {
	case p.busy <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	f, err := p.flock(ctx)
	if err != nil {
		<-p.busy
		return nil, err
	}
	return func() { _ = f.Close(); <-p.busy }, nil
}

// flock holds off other processes.
func (p *place) flock(ctx context.Context) (*os.File, error) {
	if err := os.MkdirAll(filepath.Join(p.dir, logsDir), 0o700); err != nil {
		return nil, fmt.Errorf("%s: cannot be made: %w", p.dir, cause(err))
	}
	f, err := os.OpenFile(filepath.Join(p.dir, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%s: cannot be locked: %w", p.dir, cause(err))
	}
	tick := time.NewTicker(lockEvery)
	defer tick.Stop()
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return nil, errors.Join(fmt.Errorf("%s: cannot be locked: %w", p.dir, err), f.Close())
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), f.Close())
		}
	}
}

// state reads how far the chunks were read; the place is locked.
func (p *place) state() kept {
	k := kept{Next: 1}
	text, err := os.ReadFile(filepath.Join(p.dir, keptFile))
	if err != nil || json.Unmarshal(text, &k) != nil || k.Next < 1 {
		return kept{Next: 1} // read again: what is there already is passed over
	}
	return k
}

// note writes it; the place is locked.
func (p *place) note(k kept) error {
	text, err := json.Marshal(k)
	if err != nil {
		return err
	}
	file := filepath.Join(p.dir, keptFile)
	if err := os.WriteFile(file+".new", text, 0o600); err != nil {
		return fmt.Errorf("%s: cannot be written: %w", file, cause(err))
	}
	if err := os.Rename(file+".new", file); err != nil {
		return fmt.Errorf("%s: cannot be written: %w", file, cause(err))
	}
	return nil
}

// path is where a stream's log lies.
func (p *place) path(stream string) string { return filepath.Join(p.dir, logsDir, stream) }

// copies are the open logs of a locked place.
type copies struct {
	place *place
	open  map[string]*capture.Copy
}

func (p *place) copies() *copies { return &copies{place: p, open: map[string]*capture.Copy{}} }

func (c *copies) close() {
	for _, one := range c.open {
		one.Close()
	}
}

// streamsMost bounds the logs that one incarnation can make here.
const streamsMost = 1024

func (c *copies) of(stream string) (*capture.Copy, error) {
	if one := c.open[stream]; one != nil {
		return one, nil
	}
	if len(c.open) >= streamsMost {
		return nil, fmt.Errorf("%w: more than %d streams", ErrFormat, streamsMost)
	}
	one, err := capture.OpenCopy(c.place.path(stream))
	if err != nil {
		return nil, err
	}
	c.open[stream] = one
	return one, nil
}

// add adds a frame.
func (c *copies) add(f Frame) error {
	one, err := c.of(f.Stream)
	if err != nil {
		return err
	}
	return one.Add(f.Offset, f.Marks, f.Data)
}

// done says that nothing more can come.
func (p *place) done() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.final {
		return true
	}
	for _, heard := range p.streams {
		if !heard {
			return false
		}
	}
	return len(p.streams) > 0
}

func (p *place) seal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.final = true
}

// cause is an error without the path that our sentence names.
func cause(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}
