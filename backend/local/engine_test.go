package local

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/muster-project/muster/plan"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is an engine that runs, with four GPUs that are counted when looked for.
type rig struct {
	*Engine
	looks atomic.Int32
}

func newRig(t *testing.T, dir string, sick error) *rig {
	t.Helper()
	r := &rig{Engine: NewEngine(Machine{Node: "box", CPUs: []int{0, 1, 2, 3}, Shares: 16, Memory: 16 * gib}, Settings{},
		Ledger{Dirs: []string{dir}}, slog.New(slog.DiscardHandler))}
	r.find = func(context.Context) ([]string, error) {
		r.looks.Add(1)
		if sick != nil {
			return nil, sick
		}
		return numbered(4), nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	var run sync.WaitGroup
	run.Go(func() { r.Run(ctx) })
	t.Cleanup(func() { cancel(); run.Wait() })
	return r
}

func (r *rig) want(w *Wanted) <-chan Answer {
	_, answers := r.Request(*w, os.Getuid())
	return answers
}

func slotNames(a Answer) (names []string) {
	for _, g := range a.Granted {
		names = append(names, g.Slot.ID)
	}
	return names
}

// F-016: more GPUs for one task than any node has is refused with the node
// named; more than are free now waits with the shortfall.
func TestF016MoreGPUsForOneTaskThanAnyNodeHas(t *testing.T) {
	r := newRig(t, t.TempDir(), nil)
	a := <-r.want(gangOf("m-a", 0, 1, asks("worker", 1, gpus(5))))
	if want := "can never be granted on box: worker/0 needs 5 GPUs, 4 of 4 free"; a.Refused != want || !a.Done {
		t.Errorf("%+v, want %q", a, want)
	}
	if a := <-r.want(gangOf("m-b", 0, 1, asks("worker", 1, gpus(3)))); len(a.Granted) != 1 || len(a.Granted[0].Slot.Devices) != 3 {
		t.Fatalf("%+v", a)
	}
	a = <-r.want(gangOf("m-c", 0, 1, asks("worker", 1, gpus(2))))
	if want := []string{"needs 2 GPUs, 1 of 4 free", "held by m-b of ada"}; !slices.Equal(a.Reasons, want) {
		t.Errorf("waits for %q, want %q", a.Reasons, want)
	}
}

// F-017: a job without GPUs runs and no driver is asked; one with a GPU on a
// machine without is refused in one sentence.
func TestF017GPUResourceAskedOfAClusterThatHasNone(t *testing.T) {
	r := newRig(t, t.TempDir(), nil)
	none := 0
	find := FindGPUs
	r.find = func(ctx context.Context) ([]string, error) {
		r.looks.Add(1)
		return find(ctx, Settings{GPUs: &none})
	}
	if a := <-r.want(gangOf("m-a", 0, 1, asks("worker", 1, gpus(0)))); len(a.Granted) != 1 {
		t.Errorf("without GPUs: %+v", a)
	}
	if n := r.looks.Load(); n != 0 {
		t.Errorf("the driver was asked %d times for a job without GPUs", n)
	}
	a := <-r.want(gangOf("m-b", 0, 1, asks("worker", 1, gpus(1))))
	if want := "can never be granted on box: worker/0 needs 1 GPU, 0 of 0 free"; a.Refused != want {
		t.Errorf("refused with %q, want %q", a.Refused, want)
	}
}

func TestASickDriverIsAskedOnceInAWhileAndSaid(t *testing.T) {
	sick := errors.New("nvidia-smi: no answer")
	r := newRig(t, t.TempDir(), sick)
	for range 3 {
		use, err := r.Use(t.Context())
		if !errors.Is(err, sick) || use.Free.Memory != 16*gib {
			t.Errorf("%+v, %v; want the rest of the machine and what is sick", use, err)
		}
	}
	if n := r.looks.Load(); n != 1 {
		t.Errorf("the driver was asked %d times", n)
	}
}

func TestAskingAgainGivesTheSameSlots(t *testing.T) {
	r := newRig(t, t.TempDir(), nil)
	w := gangOf("m-a", 0, 2, asks("worker", 2, gpus(1)))
	first := <-r.want(w)
	again := <-r.want(w) // the answer was lost, or its coordinator died
	if !slices.EqualFunc(first.Granted, again.Granted, func(a, b Grant) bool {
		return a.Claim == b.Claim && a.Slot.ID == b.Slot.ID && slices.Equal(a.Slot.Devices, b.Slot.Devices)
	}) {
		t.Errorf("first %+v, then %+v", first.Granted, again.Granted)
	}
	if use, _ := r.Use(t.Context()); use.Free.GPUs != 2 {
		t.Errorf("%d GPUs free, want 2", use.Free.GPUs)
	}
}

func TestHalfOfAGangThatIsAskedForAgainIsCompleted(t *testing.T) {
	r := newRig(t, t.TempDir(), nil)
	first := <-r.want(gangOf("m-a", 0, 1, asks("worker", 1, gpus(1))))
	second := <-r.want(gangOf("m-a", 0, 2, asks("worker", 2, gpus(1))))
	if got := slotNames(second); !slices.Equal(got, []string{"1-worker-0", "1-worker-1"}) || second.Granted[0].Claim != first.Granted[0].Claim {
		t.Errorf("got %v", got)
	}
}

func TestDroppedRequestsLetOthersGoOn(t *testing.T) {
	r := newRig(t, t.TempDir(), nil)
	<-r.want(gangOf("m-a", 0, 1, asks("worker", 1, gpus(3))))
	head := r.want(gangOf("m-b", 0, 1, asks("worker", 1, gpus(4))))
	<-head
	behind := r.want(gangOf("m-c", 0, 1, asks("worker", 1, gpus(1))))
	if a := <-behind; !slices.Equal(a.Reasons, []string{"behind m-b (1 task)"}) {
		t.Fatalf("waits for %q", a.Reasons)
	}
	r.Drop("m-b", 0)
	if _, open := <-head; open {
		t.Error("a dropped request is still answered")
	}
	if a := <-behind; len(a.Granted) != 1 {
		t.Errorf("after the drop: %+v", a)
	}
	r.Drop("m-a", 0) // it never started its executors
	if use, _ := r.Use(t.Context()); use.Free.GPUs != 3 {
		t.Errorf("%d GPUs free, want 3", use.Free.GPUs)
	}
}

func TestTicketsNeverGoBack(t *testing.T) {
	r := newRig(t, t.TempDir(), nil)
	<-r.want(gangOf("m-a", 0, 1, asks("w", 1, gpus(4))))
	far := int64(1) << 62 // of a server whose clock was wrong
	r.Request(*gangOf("m-b", far, 1, asks("w", 1, gpus(1))), 0)
	ticket, answers := r.Request(*gangOf("m-c", 0, 1, asks("w", 1, gpus(1))), 0)
	if ticket <= far {
		t.Errorf("ticket %d is before %d, which was given out earlier", ticket, far)
	}
	if a := <-answers; !strings.Contains(strings.Join(a.Reasons, " "), "behind m-b") {
		t.Errorf("waits for %q", a.Reasons)
	}
}

func TestClaimsThatCannotBeWrittenAreAReasonToWait(t *testing.T) {
	dir := t.TempDir() + "/file"
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, dir, nil)
	a := <-r.want(gangOf("m-a", 0, 1, asks("w", 1, plan.Resources{CPUs: 1})))
	if len(a.Granted) != 0 || len(a.Reasons) != 1 || !strings.Contains(a.Reasons[0], "not a directory") {
		t.Errorf("%+v", a)
	}
	// What there is does not look like nothing for that.
	use, err := r.Use(t.Context())
	if !errors.Is(err, ErrClaims) || use.Machine.Memory != 16*gib {
		t.Errorf("%+v, %v; want the machine and ErrClaims", use, err)
	}
}

// TestTwoEnginesAgree plays random requests and ends against two engines of one
// machine: together they never hand out more than there is.
func TestTwoEnginesAgree(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp("", "muster-claims-")
		if err != nil {
			rt.Fatal(err)
		}
		defer os.RemoveAll(dir)
		var engines [2]*Engine
		for i := range engines {
			engines[i] = NewEngine(box(), Settings{}, Ledger{Dirs: []string{dir}}, slog.New(slog.DiscardHandler))
			engines[i].find = func(context.Context) ([]string, error) { return numbered(4), nil }
			defer engines[i].letGo()
		}
		for n := range rapid.IntRange(1, 12).Draw(rt, "steps") {
			e := engines[rapid.IntRange(0, 1).Draw(rt, "engine")]
			job := "m-" + string(rune('a'+rapid.IntRange(0, 5).Draw(rt, "job")))
			if rapid.Bool().Draw(rt, "end") {
				e.Drop(job, 0)
			} else {
				k := rapid.IntRange(1, 3).Draw(rt, "tasks")
				e.Request(Wanted{Job: job, Number: n + 1, Minimum: k, Asks: asks("w", k, plan.Resources{CPUs: 2, Memory: 3 * gib, GPUs: 1})}, 0)
			}
			if err := e.round(context.Background()); err != nil {
				rt.Fatal(err)
			}
			use, err := engines[0].Use(context.Background())
			if err != nil {
				rt.Fatal(err)
			}
			balance(rt, box(), use.Claims)
		}
	})
}
