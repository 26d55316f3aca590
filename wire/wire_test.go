package wire

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 5 && os.Args[1] == "server" { // of the benchmark
		if err := serverMain(os.Args[2], os.Args[3], os.Args[4]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

var (
	equateNaN = cmp.FilterValues(func(a, b float64) bool { return math.IsNaN(a) && math.IsNaN(b) }, cmp.Ignore())
	loose     = []cmp.Option{cmpopts.EquateEmpty(), equateNaN}
)

// allocated is how many bytes f takes from the heap.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// eventually polls until ok, and fails the test after a while.
// late is long enough for a machine that does much else at the same time.
const late = 2 * time.Minute

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick, end := time.NewTicker(2*time.Millisecond), time.NewTimer(late)
	defer tick.Stop()
	defer end.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-end.C:
			t.Fatalf("never happened: %s", what)
		}
	}
}
