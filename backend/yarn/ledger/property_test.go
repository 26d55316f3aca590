package ledger

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-project/muster/plan"
)

// Whatever happens in whatever order: a gang is granted as a whole, no slot is
// gone while its container lives, nothing is held that nobody knows of, every
// launch and every release is answered, and nothing is left after the end.
func TestAnyOrderOfEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		least := rapid.IntRange(1, 4).Draw(t, "least")
		most := least + rapid.IntRange(0, 2).Draw(t, "welcome")
		w := newWorld(3, roleOf("ps", 1, 1, 0), roleOf("worker", least, most, 0))
		var tasks []string
		for _, id := range w.p.Tasks() {
			tasks = append(tasks, id.String())
		}
		w.request(1, least+1, tasks...)
		requests := 1
		pick := func(what string, of func(string) bool) string {
			var ids []string
			for id := range w.granted {
				if of(id) {
					ids = append(ids, id)
				}
			}
			if slices.Sort(ids); len(ids) == 0 {
				t.Skip("this move needs a container that is granted and as wanted: there is none")
			}
			return rapid.SampledFrom(ids).Draw(t, what)
		}
		t.Repeat(map[string]func(*rapid.T){
			"schedule": func(t *rapid.T) { w.schedule(rapid.IntRange(1, 3).Draw(t, "n")) },
			"beat":     func(*rapid.T) { w.beat() },
			"work": func(t *rapid.T) {
				w.work(rapid.IntRange(0, 9).Draw(t, "refuse") == 0, rapid.IntRange(0, 4).Draw(t, "lose") == 0)
			},
			"nodes": func(*rapid.T) { w.nodes() },
			"pass": func(t *rapid.T) {
				w.pass(time.Duration(rapid.IntRange(1, 3000).Draw(t, "ms")) * time.Millisecond)
				w.conclude()
			},
			"a gang comes before": func(*rapid.T) { w.look(w.older()); w.conclude() },
			"it goes":             func(*rapid.T) { w.look(nil); w.conclude() },
			"launch": func(*rapid.T) {
				w.launch(pick("launch", func(id string) bool { return !w.launched[id] }))
			},
			"release": func(t *rapid.T) {
				w.release(rapid.Bool().Draw(t, "now"), pick("release", func(id string) bool { return w.launched[id] }))
			},
			"die": func(t *rapid.T) {
				ids := w.alive()
				if len(ids) == 0 {
					t.Skip("this move needs a container that lives: there is none")
				}
				id := rapid.SampledFrom(ids).Draw(t, "container")
				if slices.Contains(w.fresh, id) {
					t.Skip("this move needs a container that the master has been told of: the one drawn was not")
				}
				w.end(w.there[id], rapid.SampledFrom([]int{0, 1, 137, exitAborted, exitPreempted, exitPhysical}).Draw(t, "exit"), "")
			},
			"too many": func(t *rapid.T) {
				class := w.book.class(rapid.IntRange(1, 2).Draw(t, "request"), "worker")
				if w.room["n0"] > 0 {
					w.allocate(class, "n0")
				}
			},
			"the resource manager restarts": func(*rapid.T) { w.restart() },
			"replace": func(t *rapid.T) {
				if w.book.current() != nil || len(w.granted) == 0 {
					t.Skip("this move needs a complete gang: it still gathers")
				}
				var lost []string
				for _, task := range tasks {
					if w.slot(task) == "" {
						lost = append(lost, task)
					}
				}
				if len(lost) == 0 {
					t.Skip("this move needs a task that has lost its slot: there is none")
				}
				requests++
				w.request(requests, len(lost), lost...)
			},
			"": func(t *rapid.T) { w.check(t) },
		})
		w.book.Close(w.now)
		w.settle()
		if !w.book.Empty() || len(w.alive()) > 0 {
			t.Fatalf("left after the end: boxes %v, containers %v", w.book.ids(), w.alive())
		}
		for id := range w.granted {
			if _, ok := w.gone[id]; !ok && w.failed[id] == "" {
				t.Fatalf("%s: nobody says that it is gone", id)
			}
		}
	})
}

// check holds the books against the cluster.
func (w *world) check(t *rapid.T) {
	for id := range w.gone {
		if c := w.there[id]; !c.ended {
			t.Fatalf("%s is gone, and lives", id)
		}
	}
	for id := range w.failed {
		if c := w.there[id]; !c.ended {
			t.Fatalf("%s did not start, and lives", id)
		}
	}
	for id := range w.started {
		if !w.launched[id] {
			t.Fatalf("%s runs and was never launched", id)
		}
	}
	tasks := map[plan.TaskID]string{}
	for id, s := range w.granted {
		b := w.book.boxes[id]
		if b == nil || !b.ours() {
			continue
		}
		if other := tasks[s.Task]; other != "" {
			t.Fatalf("%s has both %s and %s", s.Task, id, other)
		}
		tasks[s.Task] = id
	}
	if len(w.batches) > 0 {
		need := map[string]bool{}
		for i := range w.p.Roles {
			for n := range w.p.Roles[i].Instances.Min {
				need[plan.TaskID{Role: w.p.Roles[i].Name, Index: n}.String()] = true
			}
		}
		for _, id := range w.batches[0] {
			delete(need, w.granted[id].Task.String())
		}
		if len(need) > 0 {
			t.Fatalf("the first grant %v lacks %v", w.batches[0], need)
		}
	}
	for _, id := range w.alive() {
		if !w.book.Holds(id) && !w.book.drops[id] && !w.book.isDropping(id) && !slices.Contains(w.fresh, id) {
			t.Fatalf("%s lives, and nobody knows of it", id)
		}
	}
}
