//go:build hadoop

package yarn

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/test/cluster/hadoop/lab"
	"github.com/muster-project/muster/test/train"
)

// newWorldHere is a user's world on whatever cluster there is: with a ticket where
// one is needed, in an environment of its own, since a test may have several. Tests that use it are called TestSecure…, because only that mode
// of make test has what they need; a cluster of mode preempt has it, too.
func newWorldHere(t *testing.T, user string) *world {
	t.Helper()
	c, err := lab.Open(os.Getenv("HADOOP_CONF_DIR"))
	if err != nil {
		t.Fatal(err)
	}
	if krb5, _ := c.Kerberos(); krb5 == "" {
		return newWorldOf(t, user)
	}
	w := newPerson(t, user)
	w.kinit(user, 0)
	return w
}

// facts are the events of a job.
func (w *world) facts(id string) []event.Event {
	w.t.Helper()
	var out []event.Event
	for line := range strings.Lines(w.must("events", "-o", "json", id)) {
		e, err := event.Unmarshal([]byte(strings.TrimSpace(line)))
		if err != nil {
			w.t.Fatalf("%q: %v", line, err)
		}
		out = append(out, e)
	}
	return out
}

// ends are the ends of tasks' incarnations, as the decisions that followed saw them.
func (w *world) ends(id string) map[string]event.Exit {
	w.t.Helper()
	out, last := map[string]event.Exit{}, map[plan.TaskID]string{}
	for _, e := range w.facts(id) {
		switch b := e.Body.(type) {
		case *event.TaskExited:
			last[b.Task] = b.Task.String() + "." + strconv.Itoa(b.Incarnation)
			out[last[b.Task]] = b.Exit
		case *event.RestartDecided: // the backend may have said more by then
			out[last[b.Cause]] = b.Exit
		}
	}
	return out
}

// A training borrows what belongs to another queue, and twice that queue wants it
// back. The first time it saves within the time that it is told; the second time
// it does not listen and is killed. Neither is a failure, neither costs a restart:
// it goes on where it was, in a new epoch, when there is room again.
func TestSecurePreemptionOfATrainingThatSavesAndOfOneThatDoesNot(t *testing.T) {
	w := newWorldHere(t, "alice")
	dir, err := filepath.Abs("testdata/preempt")
	if err != nil {
		t.Fatal(err)
	}
	// 3 GiB of the 4 of the label, of which each of both queues may count on 2.
	id := w.submit("--name", "borrows", "-q", "default", "-N", "2", "--memory", "1536MiB", "--framework", "pytorch", "--python", *torch,
		"--native", "node_label=batch", "--workdir", dir, "--set", "on_preempt.signal=USR1", "--env", "OMP_NUM_THREADS=1", "--", "python3", "train.py")
	claim := func(name string) {
		t.Helper()
		other := w.submit("--name", name, "-q", "ml", "--memory", "2GiB", "--native", "node_label=batch", "--workdir", "none", "--", "sh", "-c", "echo mine; sleep 2")
		if o := w.wait(other); o.State != event.Succeeded {
			t.Fatalf("%s: %+v", name, o)
		}
	}
	trains := func(epoch int, word string) {
		t.Helper()
		w.eventually("it trains in epoch "+strconv.Itoa(epoch), func() bool {
			return strings.Contains(w.logs(id, "--no-prefix"), word)
		})
	}
	trains(1, "epoch 1 step 3")
	claim("first")
	trains(2, "saved, and deaf from now on")
	claim("second")
	if o := w.wait(id); o.State != event.Succeeded {
		t.Fatalf("%+v\n%s", o, w.logs(id))
	}
	v := w.status(id)
	if v.Restarts != 0 || v.Preempted != 2 || v.Epoch != 3 {
		t.Errorf("%d restarts, preempted %d times, epoch %d; want 0, 2, 3", v.Restarts, v.Preempted, v.Epoch)
	}
	ends := w.ends(id)
	for _, task := range []string{"worker/0", "worker/1"} {
		if x := ends[task+".1"]; x.Class != event.ClassPreempted || x.Status != 75 {
			t.Errorf("%s at first: %+v, want to have saved", task, x)
		}
	}
	killed := 0
	for _, task := range []string{"worker/0", "worker/1"} {
		if x := ends[task+".2"]; x.Class == event.ClassPreempted && x.Status != 75 {
			killed++
		}
	}
	if killed == 0 {
		t.Errorf("nobody was killed the second time: %+v, %+v", ends["worker/0.2"], ends["worker/1.2"])
	}
	log := w.logs(id, "--no-prefix")
	for _, m := range train.All(`told: ([-\d.]+) s left`, log) {
		if left, err := strconv.ParseFloat(m[1], 64); err != nil || left <= 0 || left > 8.5 {
			t.Errorf("a rank was told that it has %s s left, want up to 8", m[1])
		}
	}
	consecutive(t, log)
	if t.Failed() {
		t.Log(w.must("events", id))
	}
}

// consecutive demands that each epoch goes on where the last one had saved.
func consecutive(t *testing.T, log string) {
	t.Helper()
	at := map[int][]int{}
	for _, m := range train.All(`epoch (\d) step (\d+)`, log) {
		epoch, _ := strconv.Atoi(m[1])
		step, _ := strconv.Atoi(m[2])
		at[epoch] = append(at[epoch], step)
	}
	from := map[int]int{1: 1}
	if n := len(at[1]); n > 0 {
		from[2] = at[1][n-1] + 1 // it saved its last step
	}
	from[3] = from[2] + 5 // that of epoch 2 which was saved
	for epoch := 1; epoch <= 3; epoch++ {
		for i, step := range at[epoch] {
			if step != from[epoch]+i {
				t.Errorf("epoch %d has step %d where %d should come", epoch, step, from[epoch]+i)
				break
			}
		}
		if len(at[epoch]) == 0 {
			t.Errorf("no steps in epoch %d", epoch)
		}
	}
}
