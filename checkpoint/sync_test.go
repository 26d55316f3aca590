package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/muster-project/muster/checkpoint"
	"github.com/muster-project/muster/storage/local"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// node is one task on a machine of its own.
type node struct {
	checkpoint.Sync
	t testing.TB
}

func nodes(t testing.TB, root string, n int) []*node {
	var out []*node
	for i := range n {
		out = append(out, &node{t: t, Sync: checkpoint.Sync{FS: local.FS{Lazy: true}, Dir: filepath.Join(root, "job", "checkpoint"),
			Local: filepath.Join(root, fmt.Sprint("node", i)), Task: fmt.Sprintf("worker-%d", i)}})
	}
	if err := os.MkdirAll(filepath.Join(root, "job"), 0o700); err != nil {
		t.Fatal(err)
	}
	return out
}

func (n *node) write(name, text string) {
	path := filepath.Join(n.Local, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o640)); err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) remove(name string) {
	if err := os.Remove(filepath.Join(n.Local, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		n.t.Fatal(err)
	}
}

func (n *node) flush() {
	if err := n.Flush(context.Background()); err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) files() map[string]string {
	out := map[string]string{}
	err := filepath.WalkDir(n.Local, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(n.Local, path)
		if to, err := os.Readlink(path); err == nil {
			out[rel] = "-> " + to
			return nil
		}
		data, err := os.ReadFile(path)
		out[rel] = string(data)
		return err
	})
	if err != nil {
		n.t.Fatal(err)
	}
	return out
}

func TestWhatOneTaskSavesAllGet(t *testing.T) {
	all := nodes(t, t.TempDir(), 2)
	a, b := all[0], all[1]
	for _, n := range all {
		if err := n.Fetch(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	a.write("ckpt-1/model.pt", "one")
	a.write("latest.txt", "ckpt-1")
	if err := os.Symlink("ckpt-1", filepath.Join(a.Local, "latest")); err != nil {
		t.Fatal(err)
	}
	a.flush()
	b.flush()
	want := map[string]string{"ckpt-1/model.pt": "one", "latest.txt": "ckpt-1", "latest": "-> ckpt-1"}
	if d := cmp.Diff(want, b.files()); d != "" {
		t.Error(d)
	}
	info, err := os.Stat(filepath.Join(b.Local, "latest.txt"))
	was, err2 := os.Stat(filepath.Join(a.Local, "latest.txt"))
	if err != nil || err2 != nil || info.Mode() != was.Mode() || !info.ModTime().Equal(was.ModTime()) {
		t.Errorf("mode and time are not kept: %v %v, %v %v", info.Mode(), was.Mode(), info.ModTime(), was.ModTime())
	}

	a.remove("ckpt-1/model.pt")
	a.write("ckpt-2/model.pt", "two")
	a.write("latest.txt", "ckpt-2")
	a.flush()
	b.flush()
	want = map[string]string{"ckpt-2/model.pt": "two", "latest.txt": "ckpt-2", "latest": "-> ckpt-1"}
	if d := cmp.Diff(want, b.files()); d != "" {
		t.Error(d)
	}
	// What nobody names any more takes no room: two contents are left.
	data, err := os.ReadDir(filepath.Join(a.Dir, "data"))
	if err != nil || len(data) != 2 {
		t.Errorf("%d contents are stored, %v; want 2", len(data), err)
	}
}

// A task that is placed on another node finds what it, and others, had saved.
func TestANewSlotBeginsWhereTheOldOneWas(t *testing.T) {
	root := t.TempDir()
	old := nodes(t, root, 1)[0]
	if err := old.Fetch(t.Context()); err != nil {
		t.Fatal(err)
	}
	old.write("model.pt", "step 30")
	old.flush()
	again := nodes(t, root, 2)[0]
	again.Local = filepath.Join(root, "elsewhere")
	if err := again.Fetch(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]string{"model.pt": "step 30"}, again.files()); d != "" {
		t.Error(d)
	}
	again.write("model.pt", "step 60")
	again.flush()
	old.flush()
	if d := cmp.Diff(map[string]string{"model.pt": "step 60"}, old.files()); d != "" {
		t.Error(d)
	}
}

// While a task runs, a file that is being written is left alone until it has
// stood still.
func TestRunPublishesWhatStandsStill(t *testing.T) {
	all := nodes(t, t.TempDir(), 2)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	for _, n := range all {
		n.Every = 10 * time.Millisecond
		if err := n.Fetch(ctx); err != nil {
			t.Fatal(err)
		}
		go func() { n.Run(ctx, new(sync.Mutex)); done <- struct{}{} }()
	}
	all[0].write("model.pt", "whole")
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for len(all[1].files()) == 0 {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("it never came")
		}
	}
	cancel()
	<-done
	<-done
	if d := cmp.Diff(map[string]string{"model.pt": "whole"}, all[1].files()); d != "" {
		t.Error(d)
	}
}

func TestAHostileManifestLeadsNowhere(t *testing.T) {
	root := t.TempDir()
	n := nodes(t, root, 1)[0]
	for _, text := range []string{
		`{"entries":[{"path":"../out","version":1,"link":"x"}]}`,
		`{"entries":[{"path":"/etc/x","version":1,"link":"x"}]}`,
		`{"entries":`,
	} {
		if err := errors.Join(os.MkdirAll(n.Dir, 0o700), os.WriteFile(filepath.Join(n.Dir, "evil.000000001.json"), []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
		fresh := nodes(t, root, 1)[0]
		if err := fresh.Fetch(t.Context()); err == nil {
			t.Errorf("%s: was believed", text)
		}
	}
	if _, err := os.Lstat(filepath.Join(root, "out")); err == nil {
		t.Error("a file was made outside of the directory")
	}
}

// Whatever tasks write and remove at the same time, once they stop and each has
// looked twice, all have the same files, and what was written last by a single
// writer of a file is what it holds.
func TestAllTasksEndAlike(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		root, err := os.MkdirTemp("", "checkpoint")
		if err != nil {
			rt.Fatal(err)
		}
		defer os.RemoveAll(root)
		all := nodes(t, root, 3)
		for _, n := range all {
			if err := n.Fetch(t.Context()); err != nil {
				rt.Fatal(err)
			}
		}
		names := []string{"a", "b", "d/c", "only-0", "only-1", "only-2"}
		last := map[string]string{}
		for step := range rapid.IntRange(1, 25).Draw(rt, "steps") {
			i := rapid.IntRange(0, 2).Draw(rt, "node")
			n := all[i]
			switch rapid.IntRange(0, 3).Draw(rt, "act") {
			case 0, 1:
				name := names[rapid.IntRange(0, 3).Draw(rt, "file")]
				if name == "only-0" {
					name = fmt.Sprint("only-", i)
					last[name] = fmt.Sprint("step ", step)
				}
				n.write(name, fmt.Sprint("step ", step))
			case 2:
				n.remove(names[rapid.IntRange(0, 2).Draw(rt, "file")])
			case 3:
				n.flush()
			}
		}
		for range 3 {
			for _, n := range all {
				n.flush()
			}
		}
		want := all[0].files()
		for _, n := range all[1:] {
			if d := cmp.Diff(want, n.files()); d != "" {
				rt.Fatalf("%s has other files: %s", n.Task, d)
			}
		}
		for name, text := range last {
			if want[name] != text {
				rt.Fatalf("%s holds %q, its only writer wrote %q last", name, want[name], text)
			}
		}
	})
}
