//go:build hadoop

package yarn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/test/cluster/hadoop/lab"
)

// node is what the ResourceManager says of one.
type node struct {
	ID     string   `json:"id"`
	State  string   `json:"state"`
	Labels []string `json:"nodeLabels"`
	Free   int      `json:"availMemoryMB"`
	Used   int      `json:"usedMemoryMB"`
}

// nodes are the running nodes with a label; none is written "".
func (w *world) nodes(label string) []node {
	w.t.Helper()
	var answer struct {
		Nodes struct{ Node []node } `json:"nodes"`
	}
	w.rest("nodes", &answer)
	var out []node
	for _, n := range answer.Nodes.Node {
		if n.State == "RUNNING" && strings.Join(n.Labels, ",") == label {
			out = append(out, n)
		}
	}
	return out
}

// coordinator is what one coordinator's own container takes, in MiB.
const coordinator = 256

// scene is where gangs meet: a queue, a label, and the nodes with it.
type scene struct {
	queue, label string
	nodes        []node
}

func (s scene) size() int {
	sum := 0
	for _, n := range s.nodes {
		sum += n.Free + n.Used
	}
	return sum
}

// job writes a job file of one task of each of these sizes, in MiB, that hold
// what they got for some seconds.
func (s scene) job(w *world, name string, seconds int, sizes ...int) string {
	w.t.Helper()
	count := map[int]int{}
	for _, size := range sizes {
		count[size]++
	}
	text := fmt.Sprintf("name: %s\nqueue: %s\nworkdir: none\ncommand: sleep %d\nnative: {yarn: {am: {memory: %dMiB, node_label: %q}, node_label: %q}}\nroles:\n",
		name, s.queue, seconds, coordinator, s.label, s.label)
	for size, n := range count {
		text += fmt.Sprintf("  r%d: {memory: %dMiB, instances: %d}\n", size, size, n)
	}
	file := filepath.Join(w.home, name+".yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return file
}

// everything is a gang that needs all that one coordinator's own container
// leaves free.
func (s scene) everything(w *world, name string, seconds int) string {
	var sizes []int
	for i, n := range s.nodes {
		size := n.Free + n.Used
		if i == 0 {
			size -= coordinator
		}
		sizes = append(sizes, size)
	}
	return s.job(w, name, seconds, sizes...)
}

// share is a gang of a fraction of all, in tasks of 512 MiB.
func (s scene) share(w *world, name string, percent, seconds int) string {
	var sizes []int
	for range s.size() * percent / 100 / 512 {
		sizes = append(sizes, 512)
	}
	return s.job(w, name, seconds, sizes...)
}

// capacity is the scene under the CapacityScheduler: the one node with the label
// gpu, which only queue ml reaches. fair is the one under the FairScheduler.
func capacity(w *world) scene { return scene{"ml", "gpu", w.nodes("gpu")} }
func fair(w *world) scene     { return scene{"ml", "", w.nodes("")} }

// Two gangs of 60 %: neither holds half of what the other needs.
func testTwoOfSixtyPercent(t *testing.T, at func(*world) scene) {
	w := newWorld(t)
	s := at(w)
	a, b := w.submit(s.share(w, "first", 60, 2)), w.submit(s.share(w, "second", 60, 2))
	for _, id := range []string{a, b} {
		if o := w.wait(id); o.State != event.Succeeded {
			t.Errorf("%s: %+v", id, o)
		}
	}
}

// Two gangs that each need all that one coordinator leaves free: the younger
// one's own container is what the elder lacks, so it steps aside. It is one job
// with one id all the time, and is submitted again by whoever follows it, or by
// the user's server when nobody does.
func testTwoThatNeedEverything(t *testing.T, at func(*world) scene) {
	for _, followed := range []bool{true, false} {
		t.Run(map[bool]string{true: "followed", false: "detached"}[followed], func(t *testing.T) {
			w := newWorld(t)
			s := at(w)
			// Somebody else holds half until both wait at the same time.
			other := w.submit(s.job(w, "other", 600, 2048))
			w.until(other, "running", running)
			verb := []string{"submit", "--on=yarn", "-o", "json"}
			if followed {
				verb[0] = "run"
			}
			var clients sync.WaitGroup
			ends := make([]ended, 2)
			for i := range ends {
				clients.Go(func() {
					out, _, status := w.muster(append(verb[:4:4], s.everything(w, fmt.Sprint("whole-", i), 4))...)
					if err := json.Unmarshal([]byte(out), &ends[i]); err != nil || status != 0 {
						t.Errorf("job %d: status %d, %v: %q", i, status, err, out)
					}
				})
			}
			w.both("whole-", func(v view) bool { return len(v.Waiting) > 0 })
			w.must("stop", "--now", other)
			clients.Wait()
			aside := 0
			for _, e := range ends {
				o := e.Outcome
				if !followed {
					o = w.wait(e.ID)
				}
				if o.State != event.Succeeded {
					t.Errorf("%s: %+v", e.ID, o)
				}
				facts := w.must("events", e.ID)
				aside += strings.Count(facts, "stepped aside for")
				if strings.Count(facts, "job.submitted") != 1 || strings.Count(facts, "job.finished") != 1 {
					t.Errorf("%s: is not one job from beginning to end:\n%s", e.ID, facts)
				}
			}
			if aside == 0 {
				t.Error("nobody stepped aside: the jobs did not need all that there is")
			}
		})
	}
}

// both waits until both jobs whose names begin so are as wanted.
func (w *world) both(name string, as func(view) bool) {
	w.t.Helper()
	w.eventually("both jobs "+name+"* are as wanted", func() bool {
		n := 0
		for _, v := range w.unended() {
			if strings.HasPrefix(v.Name, name) && as(v) {
				n++
			}
		}
		return n == 2
	})
}

// Five gangs of different sizes all come to their end.
func testFiveMixed(t *testing.T, at func(*world) scene) {
	w := newWorld(t)
	s := at(w)
	var ids []string
	for i, percent := range []int{60, 25, 75, 40, 60} {
		ids = append(ids, w.submit(s.share(w, fmt.Sprint("mixed-", i), percent, 1)))
	}
	for _, id := range ids {
		if o := w.wait(id); o.State != event.Succeeded {
			t.Errorf("%s: %+v", id, o)
		}
	}
}

// open is where no label is wanted.
func open(w *world) scene { return scene{"ml", "", w.nodes("")} }

func TestTwoCompleteGangsOutliveTheLossOfANode(t *testing.T)     { testNodeLost(t, open) }
func TestFairTwoCompleteGangsOutliveTheLossOfANode(t *testing.T) { testNodeLost(t, fair) }
func TestTwoGangsOfSixtyPercentBothSucceed(t *testing.T)         { testTwoOfSixtyPercent(t, capacity) }
func TestTwoGangsThatNeedEverythingBothSucceed(t *testing.T)     { testTwoThatNeedEverything(t, capacity) }
func TestFiveMixedGangsAllSucceed(t *testing.T)                  { testFiveMixed(t, capacity) }
func TestFairTwoGangsOfSixtyPercentBothSucceed(t *testing.T)     { testTwoOfSixtyPercent(t, fair) }
func TestFairTwoGangsThatNeedEverythingBothSucceed(t *testing.T) {
	testTwoThatNeedEverything(t, fair)
}
func TestFairFiveMixedGangsAllSucceed(t *testing.T) { testFiveMixed(t, fair) }

// A node is lost while two complete gangs run: neither holds what the other
// needs, both are placed again where there is room, and both succeed.
func testNodeLost(t *testing.T, at func(*world) scene) {
	cluster, err := lab.Open(os.Getenv("HADOOP_CONF_DIR"))
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	s := at(w)
	// There is room for both jobs on what is left of the nodes once one is gone.
	ids := []string{}
	for i := range 2 {
		file := s.job(w, fmt.Sprint("lost-", i), 20, 1280, 1280)
		ids = append(ids, w.submit("--restarts", "3", "--set", "on_failure=restart", "--set", "restart_scope=job", file))
	}
	host := ""
	for _, id := range ids {
		v := w.until(id, "running", running)
		host = v.Tasks[0].Node
	}
	name := ""
	for _, n := range cluster.Names() {
		if id, err := cluster.Node(n); err == nil && id == host {
			name = n
		}
	}
	if err := cluster.Lose(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	defer func() {
		ctx := context.WithoutCancel(t.Context())
		if err := errors.Join(cluster.Start(ctx, name), cluster.Wait(ctx)); err != nil {
			t.Error(err)
		}
	}()
	lost := 0
	for _, id := range ids {
		if o := w.wait(id); o.State != event.Succeeded {
			t.Errorf("%s: %+v", id, o)
		}
		lost += strings.Count(w.must("events", id), "ended (lost)")
	}
	if lost == 0 {
		t.Error("no task was lost")
	}
}
