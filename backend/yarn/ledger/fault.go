package ledger

import (
	"maps"
	"slices"
)

// faults are nodes on which starts failed. They are avoided while they are few:
// what fails on every node is not the nodes' fault.
type faults struct {
	blocked map[string]bool
	told    map[string]bool
	changed bool
}

// blockShare is the part of the cluster that may be avoided.
const blockShare = 3

func (f *faults) blame(node string, nodes int) {
	if f.blocked[node] {
		return
	}
	f.changed = true
	if len(f.blocked)+1 > max(1, nodes/blockShare) || nodes <= 1 {
		clear(f.blocked)
		return
	}
	f.blocked[node] = true
}

// take gives the difference to what the resource manager was told.
func (f *faults) take() (block, unblock []string) {
	for n := range f.blocked {
		if !f.told[n] {
			block = append(block, n)
		}
	}
	for n := range f.told {
		if !f.blocked[n] {
			unblock = append(unblock, n)
		}
	}
	slices.Sort(block)
	slices.Sort(unblock)
	f.told, f.changed = maps.Clone(f.blocked), false
	return block, unblock
}

// forget lets everything be told once more.
func (f *faults) forget() { f.told, f.changed = nil, len(f.blocked) > 0 }
