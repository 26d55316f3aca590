package gang_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/muster-project/muster/gang"
)

func TestFit(t *testing.T) {
	nodes := []gang.Node{{Name: "n1", Capability: mem(8, 8)}, {Name: "n2", Capability: mem(8, 8)}, {Name: "g1", Partition: "gpu", Capability: mem(4, 8)},
		{Name: "b1", Partition: "batch", Shared: true, Capability: mem(2, 8)}}
	master := []gang.Holding{{Size: mem(1, 1), Node: "n1"}}
	class := func(n int, size int64, partition string) []gang.Class {
		return []gang.Class{{Name: "w", Size: mem(size, 1), Minimum: n, Count: n + 3, Partition: partition}}
	}
	for name, c := range map[string]struct {
		need   []gang.Class
		kept   []gang.Holding
		nodes  []gang.Node
		shares []gang.Share
		code   gang.Code
		text   string
	}{
		"fits":                  {class(15, 1, ""), master, nodes, nil, "", ""},
		"lent by another label": {class(17, 1, ""), master, nodes, nil, "", ""},
		"one too many": {class(18, 1, ""), master, nodes, nil, gang.CodeTooMany,
			"18 w of 1 memory, 1 vcores at once need 18 memory, 18 vcores; all nodes in the default partition together have 17 memory, 23 vcores beside this job's own master"},
		"the master stands nowhere yet": {class(2, 8, ""), []gang.Holding{{Size: mem(3, 1)}}, nodes, nil, gang.CodeTooMany,
			"2 w of 8 memory, 1 vcores and 1 master 1 of 3 memory, 1 vcores at once need 19 memory, 3 vcores; all nodes in the default partition together have 18 memory, 24 vcores beside this job's own master"},
		"too large": {class(1, 9, ""), master, nodes, nil, gang.CodeTooLarge,
			"w needs 9 memory, 1 vcores in one slot; no node in the default partition has that (most on any node: 8 memory, 8 vcores)"},
		"too large for the label": {class(1, 5, "gpu"), master, nodes, nil, gang.CodeTooLarge,
			"w needs 5 memory, 1 vcores in one slot; no node in partition gpu has that (most on any node: 4 memory, 8 vcores)"},
		"no such node": {class(1, 1, "tpu"), master, nodes, nil, gang.CodeNoNode, "w needs 1 slots in partition tpu, which has no node"},
		"in pieces": {class(3, 5, ""), master, nodes, nil, gang.CodeNoPlacement,
			"3 w of 5 memory, 1 vcores cannot stand on 4 nodes all at once, although these are large enough together"},
		"queue": {class(6, 1, ""), master, nodes, []gang.Share{{Maximum: gang.Size{"memory": 4}}}, gang.CodeQueueLimit,
			"6 w of 1 memory, 1 vcores and the master need 7 memory, 7 vcores; the queue may have at most 4 memory in the default partition"},
		"user": {class(6, 1, "gpu"), master, nil, []gang.Share{{Partition: "gpu", UserLimit: gang.Size{"memory": 4}}}, gang.CodeUserLimit,
			"6 w of 1 memory, 1 vcores and the master need 6 memory, 6 vcores; one user of the queue may have at most 4 memory in partition gpu"},
		"another label's queue":  {class(6, 1, ""), master, nodes, []gang.Share{{Partition: "gpu", Maximum: mem(0, 0)}}, "", ""},
		"nothing is known":       {class(99, 99, "x"), master, nil, nil, "", ""},
		"spread over two nodes":  {[]gang.Class{{Name: "w", Size: mem(1, 1), Minimum: 4, PerNode: 2, Partition: ""}}, master, nodes[:2], nil, "", ""},
		"spread over more nodes": {[]gang.Class{{Name: "w", Size: mem(1, 1), Minimum: 5, PerNode: 2, Partition: ""}}, master, nodes[:2], nil, gang.CodeNoPlacement, "5 w of 1 memory, 1 vcores cannot stand on 2 nodes all at once, although these are large enough together"},
	} {
		t.Run(name, func(t *testing.T) {
			var got gang.Reason
			if r := gang.Fit(c.need, c.kept, c.nodes, c.shares); r != nil {
				got = *r
			}
			if got.Code != c.code || got.Text != c.text {
				t.Errorf("%s", cmp.Diff(fmt.Sprint(c.code, ": ", c.text), fmt.Sprint(got.Code, ": ", got.Text)))
			}
		})
	}
}

// TestFitAgreesWithTryingEverything compares with placing slot after slot in
// every possible way.
func TestFitAgreesWithTryingEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var nodes []gang.Node
		for i := range rapid.IntRange(1, 3).Draw(t, "nodes") {
			nodes = append(nodes, gang.Node{Name: fmt.Sprint("n", i), Capability: mem(int64(rapid.IntRange(1, 9).Draw(t, "memory")), int64(rapid.IntRange(1, 5).Draw(t, "vcores")))})
		}
		var need []gang.Class
		var each []gang.Class
		for i := range rapid.IntRange(1, 3).Draw(t, "classes") {
			c := gang.Class{Name: fmt.Sprint("c", i), Size: mem(int64(rapid.IntRange(1, 5).Draw(t, "size")), 1), Minimum: rapid.IntRange(1, 3).Draw(t, "n"), PerNode: rapid.IntRange(0, 2).Draw(t, "per node")}
			need = append(need, c)
			for range c.Minimum {
				each = append(each, c)
			}
		}
		if got, want := gang.Fit(need, nil, nodes, nil) == nil, place(each, nodes, make([]gang.Size, len(nodes)), nil); got != want {
			t.Fatalf("%+v on %+v: %v, want %v", need, nodes, got, want)
		}
	})
}

func place(each []gang.Class, nodes []gang.Node, used []gang.Size, on []string) bool {
	if len(each) == 0 {
		return true
	}
	c := each[0]
	for i, n := range nodes {
		key, there := c.Name+n.Name, 0
		for _, o := range on {
			if o == key {
				there++
			}
		}
		if next := used[i].Plus(c.Size, 1); next.Fits(n.Capability) && (c.PerNode == 0 || there < c.PerNode) {
			old := used[i]
			used[i] = next
			if place(each[1:], nodes, used, append(on[:len(on):len(on)], key)) {
				return true
			}
			used[i] = old
		}
	}
	return false
}

func TestSlotsThatLieTogetherAreKept(t *testing.T) {
	at := func(id, rack, node string) gang.Slot { return gang.Slot{ID: id, Class: "w", Rack: rack, Node: node} }
	held := []gang.Slot{at("1", "r1", "a"), at("2", "r2", "c"), at("3", "r2", "d"), at("4", "r1", "b"), at("5", "r2", "c"), at("6", "r3", "e"), {ID: "7", Class: "x"}}
	names := func(slots []gang.Slot) (out string) {
		for _, s := range slots {
			out += s.ID
		}
		return out
	}
	keep, surplus := gang.Choose(map[string]int{"w": 3}, held)
	if names(keep) != "253" || names(surplus) != "1476" {
		t.Errorf("keeps %s, gives back %s", names(keep), names(surplus))
	}
	held[5].Started = true
	if keep, _ = gang.Choose(map[string]int{"w": 3}, held); names(keep) != "625" {
		t.Errorf("keeps %s, one of which runs", names(keep))
	}
	if got := names(gang.Order(held)); got != "2531467" {
		t.Errorf("ordered %s", got)
	}
}
