package frugal

import (
	"context"
	"math"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"time"
)

// ours says that Set chose how garbage is collected, and not the environment.
var ours atomic.Bool

// Room lets this process grow by so many bytes before it becomes frugal about
// garbage, and returns when ctx is done. A process that will hold much, for
// thousands of connections say, would else collect all of it again and again
// while it grows. What it really holds may turn out to be more than was thought;
// then it is as frugal as Set made it.
func Room(ctx context.Context, bytes int64) {
	if !ours.Load() {
		return
	}
	limit := held().total + bytes
	rooms.Lock()
	rooms.n++
	rooms.Unlock()
	debug.SetGCPercent(roomy)
	debug.SetMemoryLimit(limit)
	defer func() {
		debug.SetMemoryLimit(math.MaxInt64)
		rooms.Lock()
		rooms.n--
		rooms.Unlock()
		save()
	}()
	t := time.NewTicker(roomEvery)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			debug.SetMemoryLimit(max(limit, enough(held())))
		case <-ctx.Done():
			return
		}
	}
}

const (
	roomy     = 100 // percent of garbage, below the limit
	roomEvery = time.Second
)

// usage is memory that the runtime has, in bytes.
type usage struct {
	live  int64 // what collections spare: reachable objects and stacks
	total int64 // and all the rest, without what was given back
}

// enough is the limit that leaves as much garbage as Set allows.
func enough(u usage) int64 { return u.total - u.objects() + u.live*(100+percent)/100 }

func (u usage) objects() int64 { return min(u.total, u.live) }

func held() usage {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	n := func(i int) int64 {
		if s[i].Value.Kind() != metrics.KindUint64 {
			return 0
		}
		return int64(s[i].Value.Uint64())
	}
	return usage{live: n(0) + n(1), total: n(2) - n(3)}
}
