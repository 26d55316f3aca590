package frugal

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestSet(t *testing.T) {
	for _, c := range []struct {
		name, gogc, gomaxprocs string
		percent, procs         int
	}{
		{"by default", "", "", percent, 2},
		{"what the environment says of garbage stays", "300", "", 100, 2},
		{"what the environment says of threads stays", "", "8", percent, 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("GOGC", c.gogc)
			t.Setenv("GOMAXPROCS", c.gomaxprocs)
			defer debug.SetGCPercent(debug.SetGCPercent(100))
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8))
			Set(2)
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
	t.Setenv("GOMAXPROCS", "")
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if Set(4); runtime.GOMAXPROCS(0) != 1 {
		t.Errorf("%d threads on a machine with one", runtime.GOMAXPROCS(0))
	}
}
