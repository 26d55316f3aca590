package ledger

import (
	"slices"
	"time"
)

// faults are nodes that the job avoids: a start failed there, its disks failed,
// it was lost, or executors died there again and again. They are avoided while
// they are few, since what fails on every node is not the nodes' fault; and not
// for ever:
//
//	          blame, or a second strike
//	usable ─────────────────────────────▶ avoided
//	   ▲                                     │ blockTime passes; it is well again
//	   └─────────────────────────────────────┘ (where being ill was its fault); too many are avoided
type faults struct {
	blocked map[string]fault
	strikes map[string]time.Time // nodes on which an executor died for a reason nobody told
	told    map[string]bool
	changed bool
}

type fault struct {
	at  time.Time
	ill bool // it was lost or unhealthy: over once it says that it is well
}

const (
	// blockShare is the part of the cluster that may be avoided.
	blockShare = 3
	// blockTime is how long a node is avoided.
	blockTime = 30 * time.Minute
	// strikeTime is within what time a second executor must die on a node.
	strikeTime = 10 * time.Minute
)

func newFaults() faults {
	return faults{blocked: map[string]fault{}, strikes: map[string]time.Time{}}
}

// avoids says that nothing is to be placed on a node.
func (f *faults) avoids(node string) bool { _, ok := f.blocked[node]; return ok }

// blame has a node avoided.
func (f *faults) blame(node string, nodes int, ill bool, now time.Time) {
	if old, ok := f.blocked[node]; ok {
		f.blocked[node] = fault{at: now, ill: ill && old.ill}
		return
	}
	f.changed = true
	if len(f.blocked)+1 > max(1, nodes/blockShare) || nodes <= 1 {
		clear(f.blocked)
		return
	}
	f.blocked[node] = fault{at: now, ill: ill}
}

// strike counts an executor that died on a node; the second is blamed on it.
func (f *faults) strike(node string, nodes int, now time.Time) {
	if last, ok := f.strikes[node]; ok && now.Sub(last) < strikeTime {
		delete(f.strikes, node)
		f.blame(node, nodes, false, now)
		return
	}
	f.strikes[node] = now
}

// well notes that a node says that it is healthy.
func (f *faults) well(node string) {
	if old, ok := f.blocked[node]; ok && old.ill {
		delete(f.blocked, node)
		f.changed = true
	}
}

// decay lets go of what was long ago.
func (f *faults) decay(now time.Time) {
	for n, old := range f.blocked {
		if now.Sub(old.at) >= blockTime {
			delete(f.blocked, n)
			f.changed = true
		}
	}
}

// wake is when a node comes off; zero for never.
func (f *faults) wake() time.Time {
	var at time.Time
	for _, old := range f.blocked {
		if end := old.at.Add(blockTime); at.IsZero() || end.Before(at) {
			at = end
		}
	}
	return at
}

// take gives the difference to what the resource manager was told.
func (f *faults) take() (block, unblock []string) {
	told := map[string]bool{}
	for n := range f.blocked {
		told[n] = true
		if !f.told[n] {
			block = append(block, n)
		}
	}
	for n := range f.told {
		if !told[n] {
			unblock = append(unblock, n)
		}
	}
	slices.Sort(block)
	slices.Sort(unblock)
	f.told, f.changed = told, false
	return block, unblock
}

// forget lets everything be told once more.
func (f *faults) forget() { f.told, f.changed = nil, len(f.blocked) > 0 }
