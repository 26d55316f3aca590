package ledger

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/gang"
	"github.com/muster-project/muster/plan"
)

func TestPlacementIsAskedForByNode(t *testing.T) {
	node := func(name, rack string, free int64) gang.Node {
		return gang.Node{Name: name, Rack: rack, Capability: gang.Size{"memory-mb": 8}, Used: gang.Size{"memory-mb": 8 - free}}
	}
	four := []gang.Node{node("a", "/r1", 8), node("b", "/r1", 8), node("c", "/r2", 8), node("d", "/r2", 1)}
	type places = map[string]map[string]int
	for name, tc := range map[string]struct {
		shapes map[string]Shape
		want   places
		says   string
	}{
		"spread over nodes": {map[string]Shape{"worker": {Spread: true, PerNode: 1}},
			places{"ps": {"a": 1}, "worker": {"a": 1, "b": 1, "c": 1}}, ""},
		"spread over racks": {map[string]Shape{"worker": {Spread: true, Racks: true}},
			places{"ps": {"a": 1}, "worker": {"b": 1, "c": 1}}, "1 of worker find no node"},
		"away from the other role": {map[string]Shape{"worker": {Away: []string{"ps"}, Pack: true}},
			places{"ps": {"b": 1}, "worker": {"a": 3}}, ""},
		"together with the other role": {map[string]Shape{"worker": {Together: []string{"ps"}}},
			places{"ps": {"a": 1}, "worker": {"a": 3}}, ""},
		"together in a rack, spread over its nodes": {map[string]Shape{"worker": {Together: []string{"ps"}, Racks: true, PerNode: 1}},
			places{"ps": {"a": 1}, "worker": {"a": 1, "b": 1}}, "1 of worker find no node"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(1, roleOf("ps", 1, 1, 0), roleOf("worker", 3, 3, 0))
			w.book.Shape = func(r *plan.Role) Shape {
				sh := tc.shapes[r.Name]
				sh.Size = gang.Size{"memory-mb": 2}
				return sh
			}
			w.book.sight.nodes = four
			q := &request{Request: backend.Request{Number: 1}, want: map[int64]int{w.book.class(1, "ps"): 1, w.book.class(1, "worker"): 3},
				tasks: w.p.Tasks(), granted: map[plan.TaskID]string{}}
			got := w.book.seated(q)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			var said []string
			for _, r := range w.book.unseated(q) {
				said = append(said, r.Text)
			}
			if got := strings.Join(said, "; "); tc.says == "" != (got == "") || !strings.Contains(got, tc.says) {
				t.Errorf("says %q, want %q", got, tc.says)
			}
		})
	}
}

// What came after the look that told of the nodes counts.
func TestPlacementCountsWhatIsHeld(t *testing.T) {
	w := newWorld(2, roleOf("worker", 2, 2, 0))
	w.book.Shape = func(*plan.Role) Shape { return Shape{Size: gang.Size{"memory-mb": 1}, PerNode: 1, Spread: true} }
	w.book.sight.nodes = []gang.Node{{Name: "n0", Capability: gang.Size{"memory-mb": 4}}, {Name: "n1", Capability: gang.Size{"memory-mb": 4}}}
	w.request(1, 2, "worker/0", "worker/1")
	w.beat()
	w.schedule(1)
	w.beat()
	w.schedule(1)
	w.beat()
	if len(w.granted) != 2 {
		t.Fatalf("granted %v, want 2", w.granted)
	}
	if a, b := w.granted[w.slot("worker/0")].Node, w.granted[w.slot("worker/1")].Node; a == b {
		t.Errorf("both are on %s", a)
	}
}
