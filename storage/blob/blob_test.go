package blob

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-project/muster/storage/faulty"
	"github.com/muster-project/muster/storage/local"
)

// of "hello"
const hello = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"

func store(t *testing.T) *Store {
	return &Store{FS: local.FS{Lazy: true}, Dir: filepath.Join(t.TempDir(), "blobs")}
}

func list(t *testing.T, s *Store) []string {
	t.Helper()
	entries, err := os.ReadDir(s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// once hides that a reader can seek.
type once struct{ io.Reader }

func TestWhatIsPutIsOpenedUnderTheHashOfItsContent(t *testing.T) {
	for name, r := range map[string]io.Reader{"seekable": strings.NewReader("hello"), "a stream": once{strings.NewReader("hello")}} {
		t.Run(name, func(t *testing.T) {
			s := store(t)
			if has, err := s.Has(t.Context(), hello); has || err != nil {
				t.Fatal(has, err)
			}
			sha, err := s.Put(t.Context(), r)
			if err != nil || sha != hello {
				t.Fatal(sha, err)
			}
			if has, err := s.Has(t.Context(), hello); !has || err != nil {
				t.Error(has, err)
			}
			f, err := s.Open(t.Context(), hello)
			if err != nil {
				t.Fatal(err)
			}
			data, err := io.ReadAll(f)
			if err := errors.Join(err, f.Close()); err != nil || string(data) != "hello" {
				t.Errorf("%q %v", data, err)
			}
			if got := list(t, s); len(got) != 1 || got[0] != hello {
				t.Errorf("leftovers: %v", got)
			}
			info, err := os.Stat(s.Path(hello))
			if err != nil || info.Mode() != 0o400 {
				t.Errorf("mode %v, %v", info.Mode(), err)
			}
		})
	}
}

func TestOnlyTheRestOfASeekableIsStored(t *testing.T) {
	r := strings.NewReader("so hello")
	if _, err := r.Seek(3, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	if sha, err := store(t).Put(t.Context(), r); err != nil || sha != hello {
		t.Error(sha, err)
	}
}

func TestExistingContentIsNotWrittenAgain(t *testing.T) {
	s := store(t)
	if _, err := s.Put(t.Context(), strings.NewReader("hello")); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(s.Path(hello))
	if err != nil {
		t.Fatal(err)
	}
	s.FS = faulty.FS{FS: s.FS, Plan: func(c faulty.Call) faulty.Fault {
		if c.Op == faulty.Write {
			t.Errorf("%d bytes written", c.Size)
		}
		return faulty.Fault{}
	}}
	if sha, err := s.Put(t.Context(), strings.NewReader("hello")); err != nil || sha != hello {
		t.Fatal(sha, err)
	}
	s.FS = local.FS{}
	// A stream must be written to be known, but takes no place in the end.
	if sha, err := s.Put(t.Context(), once{strings.NewReader("hello")}); err != nil || sha != hello {
		t.Fatal(sha, err)
	}
	after, err := os.Stat(s.Path(hello))
	if err != nil || !os.SameFile(before, after) || len(list(t, s)) != 1 {
		t.Errorf("replaced, or leftovers: %v, %v", list(t, s), err)
	}
}

func TestManyPutTheSameAtOnce(t *testing.T) {
	s := store(t)
	content := bytes.Repeat([]byte("x"), 1<<20)
	var wg sync.WaitGroup
	shas := make([]string, 8)
	for i := range shas {
		wg.Go(func() {
			var err error
			if shas[i], err = s.Put(t.Context(), once{bytes.NewReader(content)}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, sha := range shas {
		if sha != shas[0] {
			t.Errorf("addresses differ: %v", shas)
		}
	}
	if got := list(t, s); len(got) != 1 {
		t.Errorf("leftovers: %v", got)
	}
}

func TestAFailureLeavesNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		op   faulty.Op
		keep int
		err  error
	}{
		"a full disk":             {faulty.Write, 2, unix.ENOSPC},
		"a disk full at the sync": {faulty.Sync, 0, unix.ENOSPC},
		"a broken disk":           {faulty.Rename, 0, unix.EIO},
		"no right":                {faulty.Create, 0, fs.ErrPermission},
	} {
		t.Run(name, func(t *testing.T) {
			s := store(t)
			s.FS = faulty.FS{FS: s.FS, Plan: func(c faulty.Call) faulty.Fault {
				if c.Op == tc.op {
					return faulty.Fault{Err: tc.err, Keep: tc.keep}
				}
				return faulty.Fault{}
			}}
			if sha, err := s.Put(t.Context(), once{strings.NewReader("hello")}); !errors.Is(err, tc.err) || sha != "" {
				t.Errorf("got %q, %v, want %v", sha, err, tc.err)
			}
			if got := list(t, s); len(got) != 0 {
				t.Errorf("left: %v", got)
			}
		})
	}
}

func TestAReaderThatFailsLeavesNothing(t *testing.T) {
	s := store(t)
	_, err := s.Put(t.Context(), io.MultiReader(strings.NewReader("he"), iotest.ErrReader(unix.EIO)))
	if !errors.Is(err, unix.EIO) || len(list(t, s)) != 0 {
		t.Errorf("%v; left: %v", err, list(t, s))
	}
}

// cancelling ends its context in the middle of the content.
type cancelling struct{ cancel context.CancelFunc }

func (c cancelling) Read(p []byte) (int, error) {
	c.cancel()
	return len(p), nil
}

func TestAContextThatEndsLeavesNothing(t *testing.T) {
	s := store(t)
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := s.Put(ctx, cancelling{cancel}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if got := list(t, s); len(got) != 0 {
		t.Errorf("left: %v", got)
	}
}

func TestDamageIsToldAtTheEnd(t *testing.T) {
	s := store(t)
	if _, err := s.Put(t.Context(), strings.NewReader("hello")); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Chmod(s.Path(hello), 0o600), os.WriteFile(s.Path(hello), []byte("hellO"), 0o600)); err != nil {
		t.Fatal(err)
	}
	f, err := s.Open(t.Context(), hello)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want := s.Path(hello) + ": damaged: its content is not that of its address"
	if _, err := io.ReadAll(f); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestWhatIsNotAnAddressIsRefused(t *testing.T) {
	s := store(t)
	for _, sha := range []string{"", "../jobs", hello[1:], strings.ToUpper(hello), hello + "0", strings.Repeat("g", 64)} {
		if _, err := s.Open(t.Context(), sha); err == nil || !strings.Contains(err.Error(), "not a content address") {
			t.Errorf("%q: open: %v", sha, err)
		}
		if _, err := s.Has(t.Context(), sha); err == nil {
			t.Errorf("%q: has it", sha)
		}
	}
	if _, err := s.Open(t.Context(), hello); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want %v", err, fs.ErrNotExist)
	}
}

func TestSweepRemovesOldLeftoversOnly(t *testing.T) {
	s := store(t)
	if err := s.Sweep(t.Context(), time.Now()); err != nil {
		t.Errorf("a store that is not there: %v", err)
	}
	if _, err := s.Put(t.Context(), strings.NewReader("hello")); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-48 * time.Hour)
	for _, name := range []string{temporary + "old", temporary + "young"} {
		if err := os.WriteFile(s.Path(name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Chtimes(s.Path(temporary+"old"), old, old), os.Chtimes(s.Path(hello), old, old)); err != nil {
		t.Fatal(err)
	}
	if err := s.Sweep(t.Context(), time.Now().Add(-24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if got := list(t, s); len(got) != 2 || got[0] != temporary+"young" || got[1] != hello {
		t.Errorf("left: %v", got)
	}
}
