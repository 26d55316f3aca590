package history_test

import (
	"context"
	"io/fs"
	"sync"
	"testing"
	"time"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/history"
	"github.com/muster-project/muster/storage"
	"github.com/muster-project/muster/storage/local"
)

// hiding is a file system that notes what is made in it without being shown.
type hiding struct {
	storage.FS
	shown bool

	mu     *sync.Mutex
	hidden *[]string
}

func (h hiding) Shown() storage.FS { h.shown = true; return h }

func (h hiding) note(path string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.shown {
		*h.hidden = append(*h.hidden, path)
	}
}

func (h hiding) Create(ctx context.Context, path string, mode fs.FileMode) (storage.Writer, error) {
	h.note(path)
	return h.FS.Create(ctx, path, mode)
}

func (h hiding) Mkdir(ctx context.Context, path string, mode fs.FileMode) error {
	h.note(path)
	return h.FS.Mkdir(ctx, path, mode)
}

// Whoever may see a job reads its journal.
func TestTheJournalIsShown(t *testing.T) {
	var hidden []string
	h := hiding{FS: local.FS{}, mu: new(sync.Mutex), hidden: &hidden}
	dir := t.TempDir()
	for range 2 {
		j, _, err := history.Open(t.Context(), h, dir, history.Owner{Node: "n"}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Append(t.Context(), []event.Event{{At: time.Now(), Body: &event.StopRequested{By: "alice"}}}); err != nil {
			t.Fatal(err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if len(hidden) > 0 {
		t.Errorf("hidden from whoever may see the job: %q", hidden)
	}
}
