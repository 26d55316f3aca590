package frugal

import (
	"context"
	"runtime"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"
)

func TestShareFillsTheRoomAndNoMore(t *testing.T) {
	const mib = 1 << 20
	for name, c := range map[string]struct {
		limit, live int64
		want        int
	}{
		"nothing is in use yet":         {256 * mib, 0, most},
		"little is in use":              {256 * mib, 64 * mib, most},
		"as much again does not fit":    {256 * mib, 160 * mib, 60},
		"the room is nearly full":       {256 * mib, 240 * mib, percent},
		"more is in use than was meant": {256 * mib, 1024 * mib, percent},
	} {
		if got := share(c.limit, c.live); got != c.want {
			t.Errorf("%s: %d percent, want %d", name, got, c.want)
		}
	}
}

// What Room allows stays, also when Set's haste is over, and ends with it.
func TestRoomIsLessFrugalForAWhile(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	synctest.Test(t, func(t *testing.T) {
		Set(2, nil)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			Room(ctx, 1<<30)
		}()
		<-time.NewTimer(haste + 4*roomEvery).C
		synctest.Wait()
		if got := debug.SetGCPercent(most); got != most {
			t.Errorf("%d percent with a lot of room, want %d", got, most)
		}
		cancel()
		<-done
	})
	if got := debug.SetGCPercent(100); got != percent {
		t.Errorf("%d percent afterwards, want %d", got, percent)
	}
}

func TestRoomLeavesTheEnvironmentItsWord(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(300))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	Set(2, []string{"GOGC=300"})
	Room(t.Context(), 1<<30) // returns at once
	if got := debug.SetGCPercent(100); got != 300 {
		t.Errorf("%d percent, want the environment's 300", got)
	}
}
