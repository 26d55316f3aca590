package backend_test

import (
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"github.com/muster-project/muster/backend"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestFeedKeepsOrderAndMakesNobodyWait(t *testing.T) {
	f := backend.NewFeed()
	for i := range 1000 { // nobody reads yet
		f.Tell(backend.Event{Gone: &backend.Gone{Slot: fmt.Sprint(i)}})
	}
	for i := range 1000 {
		if e := <-f.Events(); e.Gone.Slot != fmt.Sprint(i) {
			t.Fatalf("slot %s, want %d", e.Gone.Slot, i)
		}
	}
	f.Close()
	f.Tell(backend.Event{Superseded: true})
	f.Close()
	if _, open := <-f.Events(); open {
		t.Error("news after the end")
	}
}
