package ledger

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/gang"
	"github.com/muster-project/muster/plan"
)

// A gang whose own slot stands in its way gives it back and asks node by node,
// and goes on asking so although the last look still counts what it gave back.
func TestWhatWasGivenBackIsFreeBeforeTheNextLook(t *testing.T) {
	w := newWorld(0, roleOf("small", 1, 1, 0), roleOf("large", 1, 1, 0))
	size := map[string]gang.Size{"small": {"memory-mb": 3}, "large": {"memory-mb": 4}}
	w.book.Shape = func(r *plan.Role) Shape { return Shape{Size: size[r.Name]} }
	look := func(a int64) {
		v := gang.View{At: w.now, Reports: true, Applications: []gang.Application{
			{ID: app, User: "u", State: gang.Running, Visible: true, Launched: w.now.Add(-time.Minute)}}}
		w.book.Look(v, []gang.Node{
			{Name: "a", Rack: "/r", Capability: gang.Size{"memory-mb": 4}, Used: gang.Size{"memory-mb": a}},
			{Name: "b", Rack: "/r", Capability: gang.Size{"memory-mb": 4}, Used: gang.Size{"memory-mb": 1}}}, nil, 0.5)
		w.conclude()
	}
	look(0)
	w.request(1, 2, "small/0", "large/0")
	w.beat()
	small, large := w.book.class(1, "small"), w.book.class(1, "large")
	w.book.Answer(Beat{}, Answer{Allocated: []Container{{ID: "c1", Address: "a", Class: small, Size: size["small"]}}}, w.now)
	for range 8 { // until it has stood in its own way for long enough
		w.pass(time.Second)
		look(3)
	}
	strict := func(node string) lines {
		return lines{node: {1, true}, "/r": {1, false}, Any: {1, false}}
	}
	for _, when := range []string{"when it is given back", "after the resource manager heard", "a second later"} {
		if len(w.book.boxes) != 0 {
			t.Fatalf("%s: it still holds %v", when, w.book.ids())
		}
		got := map[string]lines{"small": w.book.wanted(small, w.now), "large": w.book.wanted(large, w.now)}
		if d := cmp.Diff(map[string]lines{"small": strict("b"), "large": strict("a")}, got, cmp.AllowUnexported(line{})); d != "" {
			t.Errorf("%s: %s", when, d)
		}
		w.pass(time.Second)
		w.book.Beat(w.now)
		w.book.grown = true
		w.conclude()
	}
	look(0)
	if len(w.book.sight.freed) != 0 {
		t.Errorf("a look that began later still takes off %v", w.book.sight.freed)
	}
}
