//go:build hadoop

package history

import (
	"context"
	"errors"
	"net/http"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/storage"
	hdfsstorage "github.com/muster-project/muster/storage/hdfs"
	"github.com/muster-project/muster/test/cluster/hadoop/lab"
)

// These tests stop and start the NameNode and the only DataNode of the cluster.

func daemons(t *testing.T) *lab.Cluster {
	t.Helper()
	c, err := lab.Open(os.Getenv("HADOOP_CONF_DIR"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// without runs something while a daemon is away: it is killed, and started
// again after pause, beside what runs.
func without(t *testing.T, c *lab.Cluster, name string, pause time.Duration, run func()) {
	t.Helper()
	if err := c.Kill(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	started := make(chan error, 1)
	go func() {
		ctx := context.WithoutCancel(t.Context())
		timer := time.NewTimer(pause)
		defer timer.Stop()
		<-timer.C
		started <- errors.Join(c.Start(ctx, name), c.Wait(ctx))
	}()
	run()
	if err := <-started; err != nil {
		t.Error(err)
	}
	http.DefaultClient.CloseIdleConnections() // which lab has asked by
}

// waiting appends as a coordinator does, which waits as long as it takes.
func waiting(t *testing.T, j *Journal, batch []event.Event) (acted []string, took time.Duration) {
	t.Helper()
	begun := time.Now()
	for {
		err := j.Append(t.Context(), batch)
		if err == nil {
			return words(batch), time.Since(begun)
		}
		t.Logf("after %.1f s: %v", time.Since(begun).Seconds(), err)
		if errors.Is(err, ErrSuperseded) || time.Since(begun) > 2*time.Minute {
			t.Fatal(err)
		}
		timer := time.NewTimer(200 * time.Millisecond)
		<-timer.C
	}
}

// eachOnce says that each of the facts is in the journal exactly once, in its place.
func eachOnce(t *testing.T, events []event.Event, acted []string) {
	t.Helper()
	have := words(facts(events))
	if len(have) != len(acted) {
		t.Errorf("%d facts, %d were acted on", len(have), len(acted))
	}
	for i := range min(len(have), len(acted)) {
		if have[i] != acted[i] {
			t.Fatalf("fact %d is %q, acted on was %q", i, have[i], acted[i])
		}
	}
}

// A journal goes on over a restart of each daemon of HDFS, idle and in the middle
// of appends; a follower sees all of it, and no lease stays.
func TestOnHDFSAJournalOutlivesDaemonsThatAreRestarted(t *testing.T) {
	c := daemons(t)
	for _, name := range []string{"nn", "dn"} {
		t.Run(name, func(t *testing.T) {
			fsys, dir := job(t)
			j, _ := takeOver(t, fsys, dir)
			followed := make(chan []event.Event, 1)
			go func() {
				events, err := collect(Follow(t.Context(), fsys, dir, 1))
				if err != nil {
					t.Error(err)
				}
				followed <- events
			}()
			acted, _ := appended(t, j, 5)
			without(t, c, name, time.Second, func() {
				if name == "nn" { // which serves no writes at first: safe mode
					if err := storage.PublishBytes(t.Context(), fsys, dir+"/note", 0o600, []byte("x")); err != nil {
						t.Error(err)
					}
				}
				for _, v := range []string{"while it is away", "and once more"} {
					more, took := waiting(t, j, said(v, "another"))
					acted = append(acted, more...)
					t.Logf("an append took %v; term %d", took, j.Term())
				}
			})
			more, _ := appended(t, j, 5)
			acted = append(acted, more...)
			next, took := takeOver(t, fsys, dir)
			t.Logf("taken over in %v", took)
			finished := finish()
			if err := next.Append(t.Context(), finished); err != nil {
				t.Fatal(err)
			}
			acted = append(acted, words(finished)...)
			eachOnce(t, <-followed, acted)
			events, err := collect(Read(t.Context(), fsys, dir, 1))
			if err != nil {
				t.Fatal(err)
			}
			eachOnce(t, events, acted)
			if err := errors.Join(next.Close()); err != nil {
				t.Error(err)
			}
			nothingOpen(t, fsys.(*hdfsstorage.FS), dir)
		})
	}
}

// A job that has nothing to tell can be looked at again soon after the only DataNode
// that has its journal was restarted, and it goes on.
func TestOnHDFSAnIdleJournalCanBeReadAfterItsDataNodeWasRestarted(t *testing.T) {
	c := daemons(t)
	fsys, dir := job(t)
	j, _ := takeOver(t, fsys, dir)
	acted, _ := appended(t, j, 3)
	without(t, c, "dn", 0, func() {})
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for begun := time.Now(); ; <-tick.C {
		events, err := collect(Read(t.Context(), fsys, dir, 1))
		if err == nil {
			t.Logf("it can be read after %v", time.Since(begun))
			eachOnce(t, events, acted)
			break
		}
		if time.Since(begun) > time.Minute {
			t.Fatal(err)
		}
	}
	more, _ := waiting(t, j, said("goes on"))
	wantActed(t, fsys, dir, append(acted, more...))
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}

// A coordinator dies in the middle of its appends, with the DataNode that has
// its journal: the next one waits for the DataNode and loses nothing.
func TestOnHDFSACoordinatorAndItsDataNodeDieTogether(t *testing.T) {
	c := daemons(t)
	fsys, dir := job(t)
	p := startCoordinator(t, dir)
	acted, _ := p.acted(t, 150)
	p.signal(t, syscall.SIGKILL)
	without(t, c, "dn", time.Second, func() {
		rest, _ := p.acted(t, 1<<30)
		_ = p.cmd.Wait() // it was killed
		j, took := takeOver(t, fsys, dir)
		t.Logf("taken over in %v, term %d", took, j.Term())
		more, _ := waiting(t, j, said("goes on"))
		wantActed(t, fsys, dir, append(append(acted, rest...), more...))
	})
}

// nothingOpen waits until no segment has a writer.
func nothingOpen(t *testing.T, fsys *hdfsstorage.FS, dir string) {
	t.Helper()
	terms, err := segments(t.Context(), fsys, dir)
	if err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	begun := time.Now()
	for _, term := range terms {
		for {
			closed, err := fsys.Client().Closed(t.Context(), segmentPath(dir, term))
			if err != nil {
				t.Fatal(err)
			}
			if closed {
				break
			}
			if time.Since(begun) > 20*time.Second {
				t.Fatalf("segment %d is still open", term)
			}
			<-tick.C
		}
	}
	t.Logf("%d segments, all closed after %v", len(terms), time.Since(begun))
}

// The same with two NameNodes, of which one and then the other is active, and
// then dies; with Kerberos, and block tokens that a DataNode that was just
// started does not know. The coordinator is killed in the middle of its appends
// at last, and the next one takes over.
func TestSecureAJournalOutlivesFailoversAndItsDataNode(t *testing.T) {
	c := daemons(t)
	fsys, dir := job(t)
	p := startCoordinator(t, dir)
	acted, _ := p.acted(t, 50)
	step := func(what string, do func() error) {
		t.Helper()
		begun := time.Now()
		if err := do(); err != nil {
			t.Fatal(what, err)
		}
		done := time.Since(begun)
		more, _ := p.acted(t, 500) // those that were on their way, and some more
		acted = append(acted, more...)
		t.Logf("%s took %v; 500 events more after %v", what, done, time.Since(begun))
	}
	ctx := context.WithoutCancel(t.Context())
	active := ""
	step("failover", func() (err error) {
		active, err = c.Failover(t.Context(), "nn")
		return err
	})
	step("the active NameNode's death", func() error {
		err := c.Kill(t.Context(), active)
		if err == nil {
			_, err = c.Failover(t.Context(), "nn")
		}
		return errors.Join(err, c.Start(ctx, active))
	})
	step("the DataNode's restart", func() error { return errors.Join(c.Kill(ctx, "dn"), c.Start(ctx, "dn"), c.Wait(ctx)) })
	p.signal(t, syscall.SIGKILL)
	rest, _ := p.acted(t, 1<<30)
	_ = p.cmd.Wait() // it was killed
	j, took := takeOver(t, fsys, dir)
	t.Logf("taken over in %v, term %d", took, j.Term())
	more, _ := waiting(t, j, said("goes on"))
	wantActed(t, fsys, dir, append(append(acted, rest...), more...))
	if err := j.Append(t.Context(), finish()); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	nothingOpen(t, fsys.(*hdfsstorage.FS), dir)
	http.DefaultClient.CloseIdleConnections() // which lab has asked by
}
