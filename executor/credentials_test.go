package executor

import (
	"errors"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/wire"
)

// taker takes credentials as a birth's place does.
type taker struct {
	mu  sync.Mutex
	got []string
}

func (k *taker) take(serial int64, data []byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(data) == 0 {
		return errors.New("nothing in them")
	}
	k.got = append(k.got, string(data))
	return nil
}

func (k *taker) list() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]string(nil), k.got...)
}

// Credentials reach whoever uses them from any coordinator, while a task runs and
// while one ends, since logs are written until the end.
func TestNewCredentialsReachTheirPlace(t *testing.T) {
	j := newJob(t)
	d := j.coordinator(1, true)
	k := &taker{}
	liveWith(t, j.context(d, worker), Options{Credentials: k.take})
	push := func(d *desk, serial int64, text string) {
		d.send(wire.Directive{Credentials: &wire.Credentials{Serial: serial, Data: []byte(text)}})
	}
	push(d, 1, "before the task")
	d.play(1, shell(`trap 'sleep 0.2; exit 0' TERM; echo ready; sleep 600 & wait`))
	push(d, 2, "while it runs")
	push(d, 3, "") // useless ones do no harm
	d.stop()
	next := j.coordinator(2, true)
	push(next, 4, "of the next term")
	next.send(wire.Directive{Quit: &wire.Quit{Reason: "test"}})
	push(next, 5, "at the end")
	want := []string{"before the task", "while it runs", "of the next term", "at the end"}
	eventually(t, "all credentials", func() bool { return len(k.list()) == len(want) })
	if diff := cmp.Diff(want, k.list()); diff != "" {
		t.Error(diff)
	}
}

// An executor whose storage wants no proof lives on.
func TestCredentialsWithoutAPlaceArePassedOver(t *testing.T) {
	j := newJob(t)
	d := j.coordinator(1, true)
	live(t, j.context(d, worker))
	d.send(wire.Directive{Credentials: &wire.Credentials{Serial: 1, Data: []byte("x")}})
	if x := d.exits(1, shell(`exit 0`)); x.Failed() {
		t.Errorf("exit %+v", x)
	}
}
