package frugal

import (
	"runtime"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"
)

func TestSet(t *testing.T) {
	for _, c := range []struct {
		name           string
		environ        []string
		percent, procs int
	}{
		{"by default", []string{"GOGC=", "NOGOGC=1"}, percent, 2},
		{"what the environment says of garbage stays", []string{"GOGC=300"}, 100, 2},
		{"what the environment says of threads stays", []string{"A=b", "GOMAXPROCS=8"}, percent, 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			defer debug.SetGCPercent(debug.SetGCPercent(100))
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8))
			synctest.Test(t, func(*testing.T) {
				Set(2, c.environ)
				if got := debug.SetGCPercent(100); got != 100 {
					t.Errorf("GC percent %d at the start, want the runtime's own", got)
				}
				<-time.After(haste)
				synctest.Wait()
			})
			if got := runtime.GOMAXPROCS(0); got != c.procs {
				t.Errorf("%d threads, want %d", got, c.procs)
			}
			if got := debug.SetGCPercent(100); got != c.percent {
				t.Errorf("GC percent %d, want %d", got, c.percent)
			}
		})
	}
}

func TestASmallMachineStaysSmall(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if Set(4, nil); runtime.GOMAXPROCS(0) != 1 {
		t.Errorf("%d threads on a machine with one", runtime.GOMAXPROCS(0))
	}
}
