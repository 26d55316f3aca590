package session_test

import (
	"fmt"
	"testing"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/session"
)

// BenchmarkRollCallOfTenThousandTasks is a job from its submission until all of
// its tasks run, with inputs that come a hundred at a time.
func BenchmarkRollCallOfTenThousandTasks(b *testing.B) {
	const n, together = 10_000, 100
	p := job(role("worker", n))
	for b.Loop() {
		s := session.New(session.Options{})
		s.Evolve(session.Submit(p, "ann", "here", epoch0))
		s.Evolve(event.Event{Seq: 2, Term: 1, At: epoch0, Body: &event.TermOpened{Term: 1}})
		s.Decide(epoch0)
		say := func(what func(i int) session.Input) {
			for i := 0; i < n; i += together {
				inputs := make([]session.Input, 0, together)
				for k := range together {
					inputs = append(inputs, what(i+k))
				}
				s.Decide(epoch0, inputs...)
				_ = s.Pending()
				s.Deadline()
			}
		}
		slot := func(i int) string { return fmt.Sprintf("s%d", i) }
		tasks := p.Tasks()
		say(func(i int) session.Input {
			return session.Granted{Slot: event.SlotGranted{Slot: slot(i), Request: 1, Task: tasks[i], Node: fmt.Sprintf("n%d", i/8)}}
		})
		say(func(i int) session.Input {
			return session.Linked{Slot: slot(i), Task: tasks[i], Phase: "idle", Control: "c"}
		})
		say(func(i int) session.Input {
			return session.Registered{Slot: slot(i), Incarnation: 1, Host: "h", Ports: map[string]int{"main": 1}}
		})
		say(func(i int) session.Input { return session.Started{Slot: slot(i), Incarnation: 1, PIDs: []int{1}} })
		if v := s.View(); v.State != "running" || v.Tasks[n-1].State != "running" {
			b.Fatalf("the job is %s, its last task %s", v.State, v.Tasks[n-1].State)
		}
	}
}
