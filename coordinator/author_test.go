package coordinator_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/muster-project/muster/access"
	"github.com/muster-project/muster/coordinator"
	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/framework"
	"github.com/muster-project/muster/spec"
	"github.com/muster-project/muster/storage"
)

// owned is a file system that tells whose a file is: who stands before the first
// dash of its name.
type owned struct{ storage.FS }

type ownedFile struct{ fs.FileInfo }

func (f ownedFile) Owner() string {
	who, _, _ := strings.Cut(f.Name(), "-")
	return who
}

func (o owned) List(ctx context.Context, path string) ([]fs.FileInfo, error) {
	list, err := o.FS.List(ctx, path)
	for i, f := range list {
		list[i] = ownedFile{f}
	}
	return list, err
}

// A letter says who wrote it; the file system knows better, and only whom the
// job's lists name is listened to.
func TestLettersCountByTheOwnerOfTheFile(t *testing.T) {
	for name, tc := range map[string]struct {
		letter string // "" is whose letter does not count
		by     string
	}{
		"the owner":            {"alice-1.json", "alice"},
		"a modifier":           {"bob-1.json", "bob"},
		"one of a group":       {"carol-1.json", "carol"},
		"a viewer":             {"dan-1.json", ""},
		"one of no such group": {"eve-1.json", ""},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			b := newBench(t, "sleep=1m")
			var asked atomic.Int32
			mail := filepath.Join(b.dir, "mailbox", tc.letter)
			if err := os.WriteFile(mail, []byte(`{"stop":{"by":"root"}}`), 0o600); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := make(chan error, 1)
			go func() {
				done <- coordinator.Run(ctx, coordinator.Config{Dir: b.dir, FS: owned{b.fs}, Gang: b.fake.Opener(b.plan.ID), Listen: "127.0.0.1:0",
					MailEvery: 5 * time.Millisecond,
					Access:    access.Rule{Owner: "alice", ACLs: spec.ACLs{View: spec.People{Users: []string{"dan"}}, Modify: spec.People{Users: []string{"bob"}, Groups: []string{"ops"}}}},
					Groups: func(_ context.Context, user string) ([]string, error) {
						if asked.Add(1) == 1 {
							return nil, errors.New("the name node is away") // the letter waits
						}
						return map[string][]string{"carol": {"ops"}, "eve": {"users"}}[user], nil
					},
					Framework: func(string) (framework.Framework, error) { return b.fw, nil }})
			}()
			if tc.by == "" {
				gone := time.NewTimer(20 * time.Second)
				defer gone.Stop()
				for tick := time.NewTicker(5 * time.Millisecond); ; {
					if _, err := os.Stat(mail); errors.Is(err, fs.ErrNotExist) {
						tick.Stop()
						break
					}
					select {
					case <-tick.C:
					case <-gone.C:
						t.Fatal("the letter is not removed")
					}
				}
				cancel()
			}
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			var by string
			for _, e := range b.events() {
				if s, ok := e.Body.(*event.StopRequested); ok {
					by = s.By
				}
			}
			if by != tc.by {
				t.Errorf("stopped by %q, want %q", by, tc.by)
			}
		})
	}
}

// On this machine's own file system it is the same, where another user's file
// comes to lie in the mailbox.
func TestAnotherUsersFileInTheMailboxDoesNotCount(t *testing.T) {
	if os.Getuid() != 0 {
		t.Log("only root can make a file of somebody else's; see TestLettersCountByTheOwnerOfTheFile")
		return
	}
	b := newBench(t, "exit=0")
	mail := filepath.Join(b.dir, "mailbox", "x.json")
	if err := errors.Join(os.WriteFile(mail, []byte(`{"stop":{"by":"root"}}`), 0o600), os.Chown(mail, 63002, 63101)); err != nil {
		t.Fatal(err)
	}
	if err := b.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if o := b.outcome(); o.State != event.Succeeded {
		t.Errorf("%+v; want success: nobody who may has stopped it", o)
	}
}
