package fake_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/backend/backendtest"
	"github.com/muster-project/muster/backend/fake"
	"github.com/muster-project/muster/coordinator"
	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/framework"
	"github.com/muster-project/muster/framework/plain"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
	"github.com/muster-project/muster/storage/local"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func harness(t testing.TB, defect fake.Defect, patience time.Duration) *backendtest.Harness {
	state := t.TempDir()
	fsys := local.FS{Lazy: true}
	c := &fake.Cluster{Slots: 3, State: state, Defect: defect,
		Place: func(dir string, s backend.Submission) error {
			if err := os.MkdirAll(filepath.Join(dir, "mailbox"), 0o700); err != nil {
				return err
			}
			data, err := json.Marshal(s)
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(dir, "submission.json"), data, 0o600)
		},
		Coordinate: func(ctx context.Context, dir string, g backend.Opener) error {
			return coordinator.Run(ctx, coordinator.Config{Dir: dir, FS: fsys, Gang: g, Listen: "127.0.0.1:0",
				Framework: func(string) (framework.Framework, error) { return plain.Framework{}, nil }})
		}}
	c.Start()
	t.Cleanup(c.Shutdown)
	return &backendtest.Harness{Backend: c, FS: fsys, Slots: 3, Patience: patience,
		Command:  func(words ...string) spec.Command { return spec.Command{Argv: append([]string{"fake"}, words...)} },
		Lose:     c.Lose,
		Preempt:  c.Preempt,
		Takeover: c.Takeover,
		Blind:    c.Blind,
		Held:     c.Held,
		Left: func(id string) []string {
			if n := c.Held(id); n > 0 {
				return []string{fmt.Sprintf("%d slots", n)}
			}
			return nil
		}}
}

func TestConformance(t *testing.T) { backendtest.Run(t, harness(t, fake.None, 20*time.Second)) }

// A job that is stopped may be closed before anything was started in its slots.
func TestClosingFreesSlotsInWhichNothingWasStarted(t *testing.T) {
	c := &fake.Cluster{Slots: 2}
	c.Start()
	defer c.Shutdown()
	p := &plan.Plan{ID: "m-1"}
	g, err := c.Opener(p.ID).Open(t.Context(), p, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	ask := backend.Ask{Task: plan.TaskID{Role: "worker"}}
	if err := g.Request(t.Context(), backend.Request{Number: 1, Minimum: 2, Asks: []backend.Ask{ask, ask}}); err != nil {
		t.Fatal(err)
	}
	if n := c.Held(p.ID); n != 2 {
		t.Fatalf("%d slots held, want 2", n)
	}
	if err := g.Close(t.Context(), event.Outcome{}); err != nil {
		t.Fatal(err)
	}
	if n := c.Held(p.ID); n != 0 {
		t.Errorf("%d slots are still held", n)
	}
}

// verdict is a testing.TB that only remembers whether a case failed.
type verdict struct {
	testing.TB
	failed bool
	text   string
}

func (v *verdict) Helper()                   {}
func (v *verdict) Errorf(f string, a ...any) { v.failed, v.text = true, fmt.Sprintf(f, a...) }
func (v *verdict) Fatalf(f string, a ...any) { v.Errorf(f, a...); runtime.Goexit() }
func (v *verdict) Fatal(a ...any)            { v.Errorf("%s", fmt.Sprint(a...)); runtime.Goexit() }
func (v *verdict) Error(a ...any)            { v.Errorf("%s", fmt.Sprint(a...)) }

// Each case must fail against a backend that makes the very mistake it is about.
func TestEveryCaseNoticesItsDefect(t *testing.T) {
	defects := map[string]fake.Defect{
		"all-or-nothing start":             fake.GrantsPartly,
		"surplus released":                 fake.KeepsSurplus,
		"exit status and signal unchanged": fake.FlattensExits,
		"stop twice":                       fake.StopsOnce,
		"stop during start":                fake.StartsLate,
		"lost slot":                        fake.HidesLoss,
		"late and repeated exit":           fake.RepeatsExits,
		"stale incarnation":                fake.StaleAnswers,
		"superseded term":                  fake.TouchesOnLoss,
		"state unknown for a while":        fake.GuessesEnds,
		"logs complete after the end":      fake.LosesLines,
		"preempted and requeued":           fake.HidesWarnings,
		"nothing left":                     fake.LeavesSlots,
	}
	for _, c := range backendtest.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			defect, ok := defects[c.Name]
			if !ok {
				t.Fatal("the case has no defect that it must notice")
			}
			v := &verdict{TB: t}
			done := make(chan struct{})
			go func() {
				defer close(done)
				c.Run(v, harness(t, defect, 4*time.Second))
			}()
			<-done
			if !v.failed {
				t.Errorf("passes against a backend that %s", defect)
			}
			t.Logf("noticed: %s", v.text)
		})
	}
}
