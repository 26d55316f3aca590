package yarn

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/gang"
	"github.com/muster-project/muster/hadoop/pb/yarnpb"
)

// A queue of the FairScheduler says its largest memory and nothing of
// processors or GPUs, which does not mean that it may have none.
func TestAFairQueueThatNamesNoProcessorsMayHaveThem(t *testing.T) {
	q := &yarnpb.QueueInfo{MaxMb: new(int64(16384))}
	got := sharesOf(Scheduler{}, q, []string{""})
	if d := cmp.Diff([]gang.Share{{Maximum: gang.Size{"memory-mb": 16384}}}, got); d != "" {
		t.Error(d)
	}
}
