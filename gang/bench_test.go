package gang_test

import (
	"fmt"
	"testing"

	"github.com/muster-project/muster/gang"
)

// BenchmarkDecide is one beat of a head on a large cluster, which has to be
// much shorter than a beat.
func BenchmarkDecide(b *testing.B) {
	in := moment(nil)
	in.Need = []gang.Class{{Name: "ps", Size: mem(4, 1), Minimum: 100, Count: 100}, {Name: "worker", Size: mem(7, 2), Minimum: 1000, Count: 1000}}
	for i := range 5000 {
		in.Nodes = append(in.Nodes, gang.Node{Name: fmt.Sprint("n", i), Capability: mem(64, 32), Used: mem(int64(i%60), 20)})
	}
	for i := range 900 {
		in.Held = append(in.Held, gang.Slot{ID: fmt.Sprint("c", i), Class: "worker", Node: fmt.Sprint("n", i*5), At: epoch})
	}
	var s gang.State
	for b.Loop() {
		s, _ = gang.Decide(s, in, epoch)
	}
}
