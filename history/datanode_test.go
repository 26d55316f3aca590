//go:build hadoop && datanodes

package history

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/muster-project/muster/event"
)

// These tests end DataNodes. They want a cluster of their own with three of them
// and replication 3 (HADOOP_CONF_DIR), and a program that does
//
//	$MUSTER_TEST_DATANODE kill|pause|resume|start N
//
// for N from 1 to 3, and 0 for the NameNode, and returns when it is done: kill is
// SIGKILL, pause SIGSTOP; start also resumes, does nothing if it runs, and returns
// when the NameNode has it.
const datanodeCommand = "MUSTER_TEST_DATANODE"

func datanode(t *testing.T, verb string, n int) {
	t.Helper()
	command := os.Getenv(datanodeCommand)
	if command == "" {
		t.Fatalf("%s: not set: these tests end and start datanodes by it", datanodeCommand)
	}
	if out, err := exec.Command(command, verb, strconv.Itoa(n)).CombinedOutput(); err != nil {
		t.Fatalf("%s %s %d: %v\n%s", command, verb, n, err, out)
	}
}

// whole has all three DataNodes run, now and afterwards.
func whole(t *testing.T) {
	t.Helper()
	all := func() {
		for n := 1; n <= 3; n++ {
			datanode(t, "start", n)
		}
	}
	all()
	t.Cleanup(all)
}

func TestOnHDFSAJournalOutlivesADataNode(t *testing.T) {
	for name, tc := range map[string]struct {
		verb    string
		longest time.Duration
	}{
		"killed": {"kill", 15 * time.Second},
		"hung":   {"pause", 60 * time.Second},
	} {
		for n := 1; n <= 3; n++ { // somewhere in the pipeline
			t.Run(name+" "+strconv.Itoa(n), func(t *testing.T) {
				whole(t)
				fsys, dir := job(t)
				j, _ := takeOver(t, fsys, dir)
				acted, _ := appended(t, j, 20)
				datanode(t, tc.verb, n)
				more, longest := appended(t, j, 20)
				acted = append(acted, more...)
				t.Logf("the longest append took %v; term %d", longest, j.Term())
				if longest > tc.longest {
					t.Errorf("an append took %v", longest)
				}
				wantActed(t, fsys, dir, acted) // while it is away
				datanode(t, "start", n)
				wantActed(t, fsys, dir, acted)
				next, took := takeOver(t, fsys, dir)
				t.Logf("taken over in %v", took)
				more, _ = appended(t, next, 3)
				wantActed(t, fsys, dir, append(acted, more...))
			})
		}
	}
}

// A machine goes away with the coordinator and one DataNode on it.
func TestOnHDFSACoordinatorDiesWithADataNode(t *testing.T) {
	for n := 1; n <= 3; n++ {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			whole(t)
			fsys, dir := job(t)
			p := startCoordinator(t, dir)
			acted, _ := p.acted(t, 200)
			p.signal(t, syscall.SIGKILL)
			datanode(t, "kill", n)
			rest, _ := p.acted(t, 1<<30)
			_ = p.cmd.Wait() // it was killed
			j, took := takeOver(t, fsys, dir)
			t.Logf("taken over in %v", took)
			if took > 30*time.Second {
				t.Errorf("taken over only after %v", took)
			}
			more, _ := appended(t, j, 5)
			acted = append(append(acted, rest...), more...)
			wantActed(t, fsys, dir, acted)
			datanode(t, "start", n)
			wantActed(t, fsys, dir, acted)
		})
	}
}

// One DataNode after the other goes away and comes back, and coordinators die
// in between: what was acted on stays.
func TestOnHDFSAJournalOutlivesAllDataNodesInTurn(t *testing.T) {
	whole(t)
	fsys, dir := job(t)
	var acted []string
	for round := range 6 {
		// Another coordinator knows nothing of which DataNodes failed its predecessor.
		own, closeAll, err := onHDFS()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := closeAll(); err != nil {
				t.Error(err)
			}
		})
		j, took := takeOver(t, own, dir)
		more, _ := appended(t, j, 10)
		datanode(t, "kill", round%3+1)
		rest, longest := appended(t, j, 10)
		acted = append(append(acted, more...), rest...)
		t.Logf("taken over in %v, the longest append took %v, term %d", took, longest, j.Term())
		wantActed(t, fsys, dir, acted)
		datanode(t, "start", round%3+1)
	}
	var facts int
	for e, err := range Read(t.Context(), fsys, dir, 1) {
		if err != nil {
			t.Fatal(err)
		}
		if _, is := e.Body.(*event.TaskPublished); is {
			facts++
		}
	}
	if facts != 6*40 {
		t.Errorf("%d events, want %d: some are there twice or not at all", facts, 6*40)
	}
}

// A NameNode that is away is waited for; what was acted on before stays.
func TestOnHDFSAJournalOutlivesItsNameNode(t *testing.T) {
	whole(t)
	fsys, dir := job(t)
	j, _ := takeOver(t, fsys, dir)
	acted, _ := appended(t, j, 10)
	datanode(t, "kill", 0)
	restarted := make(chan struct{})
	go func() {
		defer close(restarted)
		datanode(t, "start", 0)
	}()
	more, longest := appended(t, j, 10)
	<-restarted
	t.Logf("the longest append took %v; term %d", longest, j.Term())
	wantActed(t, fsys, dir, append(acted, more...))
	next, took := takeOver(t, fsys, dir)
	t.Logf("taken over in %v, term %d", took, next.Term())
	wantActed(t, fsys, dir, append(acted, more...))
}
