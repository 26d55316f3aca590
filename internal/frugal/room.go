package frugal

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"time"
)

// ours says that Set chose how garbage is collected, and not the environment.
var ours atomic.Bool

// Room lets a process that will hold so many bytes more, for thousands of
// connections say, be less frugal while it does not hold them yet: it would else
// collect garbage again and again while it grows. It returns when ctx is done.
func Room(ctx context.Context, bytes int64) {
	if !ours.Load() {
		return
	}
	rooms.Lock()
	rooms.n++
	rooms.Unlock()
	defer func() {
		rooms.Lock()
		rooms.n--
		rooms.Unlock()
		save()
	}()
	limit := grown(live()) + bytes
	now := share(limit, live())
	debug.SetGCPercent(now)
	t := time.NewTicker(roomEvery)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			if next := share(limit, live()); next < now || next >= now+roomStep {
				now = next
				debug.SetGCPercent(now)
			}
		case <-ctx.Done():
			return
		}
	}
}

const (
	most      = 100 // percent, however much room there is
	roomEvery = 250 * time.Millisecond
	roomStep  = 10 // percent; each change stops the program for a moment
)

// grown is what live memory takes with all the garbage that Set allows.
func grown(live int64) int64 { return live * (100 + percent) / 100 }

// share is how much garbage fits below the limit, in percent of what is in use.
func share(limit, live int64) int {
	return int(min(max((limit-live)*100/max(live, 1), percent), most))
}

// live is what a collection spares: objects that are in use, and stacks.
func live() int64 {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(s)
	var sum int64
	for _, v := range s {
		if v.Value.Kind() == metrics.KindUint64 {
			sum += int64(v.Value.Uint64())
		}
	}
	return sum
}
