package history

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/storage"
)

// The argument in the comment of Append, tried: coordinators and followers run
// in an order of single file system calls that rapid draws, writes come in two
// halves, calls fail, files take nothing more. Whatever the order,
//
//   - an event that its writer may act on is in the journal for ever,
//   - so no two writers act on events of the same number,
//   - a batch is there whole or not at all,
//   - a follower gives exactly the journal, and never takes anything back.
func TestNoOrderOfCallsMakesTwoCoordinatorsAct(t *testing.T) {
	root := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp(root, "")
		if err != nil {
			t.Fatal(err)
		}
		s := &schedule{arrived: make(chan *actor)}
		acted := map[int64]string{}
		for i := range rapid.IntRange(2, 4).Draw(t, "coordinators") {
			appends := rapid.IntRange(0, 4).Draw(t, "appends")
			s.start(func(a *actor) { coordinate(a, dir, i, appends, acted) })
		}
		var followers [2][]string
		for i := range followers {
			s.start(func(a *actor) { followers[i] = watch(a, dir, 12) })
		}
		s.run(t)

		// Two more terms settle what is open.
		for range 2 {
			j, _, err := Open(context.Background(), lazy, dir, me, noon)
			if err != nil {
				t.Fatal(err)
			}
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
		}
		journal, err := collect(Read(context.Background(), lazy, dir, 1))
		if err != nil {
			t.Fatal(err)
		}
		final := words(journal)
		for seq, what := range acted {
			if int(seq) > len(final) || final[seq-1] != what {
				t.Errorf("acted on %q, which is not in %q", what, final)
			}
		}
		values := saidIn(journal)
		for i, v := range values {
			if i%2 == 0 && (i+1 == len(values) || values[i+1] != v+"+") {
				t.Errorf("the batch of %q is torn: %q", v, final)
			}
		}
		for i, given := range followers {
			for k, what := range given {
				if k >= len(final) || final[k] != what {
					t.Errorf("follower %d gave %q, the journal is %q", i, given, final)
					break
				}
			}
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	})
}

func saidIn(journal []event.Event) []string {
	var out []string
	for _, e := range journal {
		if p, ok := e.Body.(*event.TaskPublished); ok {
			out = append(out, p.Value)
		}
	}
	return out
}

// coordinate is one life of a coordinator.
func coordinate(a *actor, dir string, name, appends int, acted map[int64]string) {
	j, _, err := Open(context.Background(), a, dir, me, noon)
	if err != nil {
		return
	}
	defer j.Close()
	for n := range appends {
		// The second event makes a batch that can be cut in the middle.
		batch := said(fmt.Sprintf("c%d n%d", name, n), fmt.Sprintf("c%d n%d+", name, n))
		err := j.Append(context.Background(), batch)
		for tries := 0; err != nil && tries < 2 && !errors.Is(err, ErrSuperseded); tries++ {
			err = j.Append(context.Background(), batch)
		}
		if err != nil {
			return // superseded, or it gives up and dies
		}
		// Only one actor runs at a time, so the map needs no lock.
		for i, what := range words(batch) {
			if other, ok := acted[batch[i].Seq]; ok {
				panic(fmt.Sprintf("both %q and %q were acted on", other, what))
			}
			acted[batch[i].Seq] = what
		}
	}
}

// watch follows for some steps.
func watch(a *actor, dir string, steps int) []string {
	f := &follower{fs: a, dir: dir, patience: time.Hour}
	var given []string
	for range steps {
		events, err := f.step(context.Background())
		if err != nil {
			if errors.Is(err, errInjected) {
				continue
			}
			panic(err)
		}
		given = append(given, words(events)...)
	}
	return given
}

var (
	errInjected = fmt.Errorf("injected: %w", unix.EIO)
	// errUsedUp ends a writer for good.
	errUsedUp = fmt.Errorf("%w: %w", errInjected, storage.ErrSpent)
)

// schedule lets one actor make one call at a time.
type schedule struct {
	arrived chan *actor
	actors  []*actor
}

// actor is a file system whose every call waits for its turn.
type actor struct {
	storage.FS
	arrived chan *actor
	turn    chan error
	done    bool
}

func (s *schedule) start(run func(*actor)) {
	a := &actor{FS: lazy, arrived: s.arrived, turn: make(chan error)}
	s.actors = append(s.actors, a)
	go func() {
		<-a.turn
		run(a)
		a.done = true
		a.arrived <- a
	}()
}

func (s *schedule) run(t *rapid.T) {
	waiting := s.actors
	for len(waiting) > 0 {
		i := rapid.IntRange(0, len(waiting)-1).Draw(t, "next")
		var fault error
		switch rapid.IntRange(0, 19).Draw(t, "fault") {
		case 18:
			fault = errUsedUp
		case 19:
			fault = errInjected
		}
		a := waiting[i]
		a.turn <- fault
		<-s.arrived // the same one: nobody else runs
		if a.done {
			waiting = append(waiting[:i:i], waiting[i+1:]...)
		}
	}
}

func (a *actor) wait() error {
	a.arrived <- a
	return <-a.turn
}

func (a *actor) Open(ctx context.Context, path string, offset int64) (io.ReadCloser, error) {
	if err := a.wait(); err != nil {
		return nil, err
	}
	return a.FS.Open(ctx, path, offset)
}

func (a *actor) Create(ctx context.Context, path string, mode fs.FileMode) (storage.Writer, error) {
	if err := a.wait(); err != nil {
		return nil, err
	}
	w, err := a.FS.Create(ctx, path, mode)
	if err != nil {
		return nil, err
	}
	return &halves{Writer: w, actor: a}, nil
}

func (a *actor) List(ctx context.Context, path string) ([]fs.FileInfo, error) {
	if err := a.wait(); err != nil {
		return nil, err
	}
	return a.FS.List(ctx, path)
}

func (a *actor) Stat(ctx context.Context, path string) (fs.FileInfo, error) {
	if filepath.Ext(path) != suffix {
		return a.FS.Stat(ctx, path) // of the job's directory: always there
	}
	if err := a.wait(); err != nil {
		return nil, err
	}
	return a.FS.Stat(ctx, path)
}

// halves writes in two steps. A fault before the first or the second leaves
// nothing or half of it in the file.
type halves struct {
	storage.Writer
	actor  *actor
	usedUp bool
}

func (h *halves) wait() error {
	if h.usedUp {
		return errUsedUp
	}
	err := h.actor.wait()
	h.usedUp = errors.Is(err, storage.ErrSpent)
	return err
}

func (h *halves) Write(p []byte) (int, error) {
	n := 0
	for _, part := range [][]byte{p[:len(p)/2], p[len(p)/2:]} {
		if err := h.wait(); err != nil {
			return n, err
		}
		k, err := h.Writer.Write(part)
		n += k
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

func (h *halves) Sync(ctx context.Context) error {
	if err := h.wait(); err != nil {
		return err
	}
	return h.Writer.Sync(ctx)
}
