package hdfs

import (
	"sync"
	"time"

	"github.com/muster-project/muster/hadoop/pb/hdfspb"
)

// avoidance is how long a DataNode that failed is not written to, and is read
// last. One that comes back is missed as a replica for that long; one that stays
// away costs a try, but only with the next block.
const avoidance = time.Minute

// blacklist is the DataNodes that failed lately.
type blacklist struct {
	mu    sync.Mutex
	nodes map[string]failed // by uuid
}

type failed struct {
	node *hdfspb.DatanodeInfo
	at   time.Time
}

func (b *blacklist) add(nodes ...*hdfspb.DatanodeInfo) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.nodes == nil {
		b.nodes = map[string]failed{}
	}
	for _, n := range nodes {
		b.nodes[n.GetId().GetDatanodeUuid()] = failed{node: n, at: time.Now()}
	}
}

func (b *blacklist) list() []*hdfspb.DatanodeInfo {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []*hdfspb.DatanodeInfo
	for id, f := range b.nodes {
		if time.Since(f.at) > avoidance {
			delete(b.nodes, id)
			continue
		}
		out = append(out, f.node)
	}
	return out
}

// last gives the nodes with those that failed lately behind the others.
func (b *blacklist) last(nodes []*hdfspb.DatanodeInfo) []*hdfspb.DatanodeInfo {
	b.mu.Lock()
	defer b.mu.Unlock()
	var first, last []*hdfspb.DatanodeInfo
	for _, n := range nodes {
		if f, ok := b.nodes[n.GetId().GetDatanodeUuid()]; ok && time.Since(f.at) <= avoidance {
			last = append(last, n)
		} else {
			first = append(first, n)
		}
	}
	return append(first, last...)
}

func (b *blacklist) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.nodes)
}
