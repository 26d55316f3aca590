package ledger

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/gang"
	"github.com/muster-project/muster/plan"
)

func TestARestartedResourceManagerIsToldEverythingAgain(t *testing.T) {
	w := newWorld(2, roleOf("worker", 2, 2, 0))
	w.request(1, 2, "worker/0", "worker/1")
	w.beat()
	w.restart()
	w.beat()
	w.schedule(2)
	w.beat()
	if len(w.granted) != 2 {
		t.Errorf("granted %v, want 2", w.granted)
	}
}

func TestNodesArePackedBeforeTheyAreAskedForAlike(t *testing.T) {
	node := func(name string, free int64) gang.Node {
		return gang.Node{Name: name, Rack: "/r", Capability: gang.Size{"gpu": 8}, Used: gang.Size{"gpu": 8 - free}}
	}
	for name, tc := range map[string]struct {
		nodes []gang.Node
		want  lines
	}{
		"the tightest that holds all": {[]gang.Node{node("a", 8), node("b", 4), node("c", 2)},
			lines{"b": {4, true}, "/r": {4, false}, Any: {4, false}}},
		"the roomiest first": {[]gang.Node{node("a", 1), node("b", 3), node("c", 2), node("d", 1)},
			lines{"b": {3, true}, "d": {1, true}, "/r": {4, false}, Any: {4, false}}},
		"too full":  {[]gang.Node{node("a", 1)}, lines{Any: {4, true}}},
		"not known": {nil, lines{Any: {4, true}}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(1, roleOf("worker", 4, 4, 0))
			w.book.Shape = func(*plan.Role) Shape { return Shape{Size: gang.Size{"gpu": 1}, Pack: true} }
			w.book.sight.nodes = tc.nodes
			w.request(1, 4, "worker/0", "worker/1", "worker/2", "worker/3")
			class := w.book.class(1, "worker")
			if diff := cmp.Diff(tc.want, w.book.wanted(class, w.now), cmp.AllowUnexported(line{})); diff != "" {
				t.Error(diff)
			}
			w.pass(4 * time.Second)
			if diff := cmp.Diff(lines{Any: {4, true}}, w.book.wanted(class, w.now), cmp.AllowUnexported(line{})); diff != "" {
				t.Errorf("after the time for packing: %s", diff)
			}
		})
	}
}
