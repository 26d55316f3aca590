package yarn

import (
	"testing"
	"time"

	"github.com/muster-project/muster/backend/yarn/ledger"
	"github.com/muster-project/muster/plan"
)

// After a refused heartbeat the next one waits its turn, whatever there is to say
// and to wait for: else a refusal that lasts is asked for as fast as it comes.
func TestARefusedHeartbeatIsNotRepeatedAtOnce(t *testing.T) {
	now := time.Unix(1e9, 0)
	m := &master{Opener: Opener{AM: &AM{}}, book: ledger.New(ledger.Config{Plan: &plan.Plan{}}, nil, now), refused: true, beat: now}
	m.book.Registered([]ledger.Container{{ID: "container_1_0001_01_000002"}}, now)
	if !m.book.Pending(now) {
		t.Fatal("there is nothing to say: nobody knows that container, so it was to be given back")
	}
	if due := m.heart(now); due != now.Add(heartbeat) {
		t.Errorf("due at %s, want %s", due, now.Add(heartbeat))
	}
}
