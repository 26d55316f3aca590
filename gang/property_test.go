package gang_test

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) {
	// A mix costs many times what rapid expects of a case; make test-all plays a
	// thousand of each kind.
	flag.Parse()
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue {
		_ = f.Value.Set("25")
	}
	goleak.VerifyTestMain(m)
}

// story is what happened, for the reader of a failure.
func (w *world) story() string {
	var b strings.Builder
	for _, n := range w.nodes {
		fmt.Fprintf(&b, "%s %s %q %v\n", n.name, n.rack, n.partition, n.size)
	}
	for _, j := range w.jobs {
		fmt.Fprintf(&b, "%s of %s in %s: %+v, run %v, outcome %q\n", j.id, j.user, j.queue, j.need, j.run, j.outcome)
	}
	for _, n := range w.notes {
		fmt.Fprintln(&b, n)
	}
	for _, a := range w.apps {
		if a.hands != nil {
			fmt.Fprintf(&b, "at the end %s (%s) holds %d, asks %v %v: %+v\n", a.id, a.job.id, len(w.held(a)), a.asks, a.where, a.hands.last.Waiting)
		}
	}
	return b.String()
}

// TestEveryMixEnds throws random mixes at masters that follow the rule: every job
// that fits alone succeeds before the horizon, and check holds at all times.
// -rapid.checks=1000 plays a thousand mixes of each kind.
func TestEveryMixEnds(t *testing.T) {
	for name, f := range map[string]feature{
		"one queue, one user": {classes: true, lag: true},
		"queues and others":   {foreign: true, queues: true, users: true, lag: true, partitions: true},
		"faults":              {faults: true, users: true, lag: true},
		"everything":          everything,
		"blind for a while":   {blind: true, users: true, lag: true},
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				w, horizon := anyWorld(t, f)
				if !w.run(horizon) || len(w.broken) > 0 {
					t.Fatalf("not over after %v: %v\n%s", horizon, w.broken, w.story())
				}
				for _, j := range w.jobs {
					if j.outcome != "succeeded" {
						t.Fatalf("%s %s\n%s", j.id, j.outcome, w.story())
					}
				}
			})
		})
	}
}
