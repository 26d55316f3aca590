package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/muster-project/muster/api"
	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/plan"
)

// Opener makes the gang of a job inside its coordinator.
type Opener struct {
	Dir      string   // the job's directory
	Executor []string // command line of an executor, before "run --context FILE --hold 3"
	Client   *api.Client
	Log      *slog.Logger
}

var _ backend.Opener = Opener{}

// Open looks what became of the slots that the journal knows:
//
//	executor lives          Adopted
//	granted, never started  Granted, once more: Launch is still to come
//	else                    Gone, when nothing of it is left
func (o Opener) Open(ctx context.Context, p *plan.Plan, term int64, known []backend.Slot) (backend.Gang, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	g := &gang{Opener: o, plan: p, term: term, slots: map[string]*slot{}, asking: map[int]bool{}, feed: backend.NewFeed()}
	g.life, g.end = context.WithCancel(context.WithoutCancel(ctx))
	for _, k := range known {
		g.recover(k)
	}
	return g, nil
}

// gang is a job's slots on this machine.
//
//	      grant              Launch              executor ends
//	(asked) ──▶ held by us ──────────▶ running ───────────────▶ ending
//	                │ Release             │ Release: TERM, KILL    │ claim free
//	                ▼                     └────────────────────────▶ Gone
//	              Gone
//
// A slot is Gone only when its claim is free: then executor and guardian, and
// with them everything of the task, have ended.
type gang struct {
	Opener
	plan *plan.Plan
	term int64

	life  context.Context // of all goroutines
	end   context.CancelFunc
	owned sync.WaitGroup // waits and asks
	feed  *backend.Feed

	mu     sync.Mutex
	slots  map[string]*slot
	asking map[int]bool
	closed bool
}

// Events delivers what happened.
func (g *gang) Events() <-chan backend.Event { return g.feed.Events() }

func (g *gang) tell(e backend.Event) { g.feed.Tell(e) }

// superseded looks for the address of a coordinator with a higher term: then
// nothing of the job is ours to touch.
func (g *gang) superseded() error {
	names, err := os.ReadDir(filepath.Join(g.Dir, "endpoint"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("endpoint: cannot be read: %w", err)
	}
	for _, e := range names {
		if n, err := strconv.ParseInt(strings.TrimSuffix(e.Name(), ".json"), 10, 64); err == nil && n > g.term {
			g.tell(backend.Event{Superseded: true})
			return fmt.Errorf("term %d: %w", n, backend.ErrSuperseded)
		}
	}
	return nil
}

// Request asks the server. Answers come as events, for as long as it takes.
func (g *gang) Request(ctx context.Context, r backend.Request) error {
	if err := g.superseded(); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed || g.asking[r.Number] {
		return nil
	}
	g.asking[r.Number] = true
	r.Asks = slices.Clone(r.Asks)
	slices.SortStableFunc(r.Asks, func(a, b backend.Ask) int { return g.need(a) - g.need(b) })
	g.owned.Go(func() { g.ask(r) })
	return nil
}

// need is 0 for the tasks that a role cannot do without: the server grants
// those first, the rest of an elastic role is welcome.
func (g *gang) need(a backend.Ask) int {
	if r := g.plan.Role(a.Task.Role); r != nil && a.Task.Index >= r.Instances.Min {
		return 1
	}
	return 0
}

// Launch starts executors. A slot whose executor runs already is acknowledged
// once more.
func (g *gang) Launch(ctx context.Context, starts []backend.Start) error {
	if err := g.superseded(); err != nil {
		return err
	}
	var launched []string
	for _, st := range starts {
		native, err := g.launch(st)
		if err == nil {
			launched = append(launched, st.Slot.ID)
		}
		g.tell(backend.Event{Started: &backend.Started{Slot: st.Slot.ID, Native: native, Err: err}})
	}
	g.sayLaunched(launched)
	return nil
}

// sayLaunched lets the server forget claims that it need not hold any more. If
// no server answers, none holds any.
func (g *gang) sayLaunched(slots []string) {
	if len(slots) == 0 {
		return
	}
	g.owned.Go(func() {
		if err := g.Client.Launched(g.life, api.Launched{Job: g.plan.ID, Slots: slots}); err != nil && !api.Away(err) && g.life.Err() == nil {
			g.Log.Warn("the server keeps claims until the job's end", "error", err)
		}
	})
}

// Release ends slots: the executor is asked to end its tree, and killed when it
// takes too long; its guardian then ends the tree.
func (g *gang) Release(ctx context.Context, slots []string, now bool) error {
	if err := g.superseded(); err != nil {
		return err
	}
	for _, id := range slots {
		g.release(id, now)
	}
	return nil
}

func (g *gang) release(id string, now bool) {
	g.mu.Lock()
	s := g.slots[id]
	g.mu.Unlock()
	if s == nil {
		g.tell(backend.Event{Gone: &backend.Gone{Slot: id}})
		return
	}
	if s.giveBack(g) {
		return
	}
	s.stop(g, now)
}

// Close ends everything that is left, and returns when it has ended.
func (g *gang) Close(ctx context.Context, o event.Outcome) error {
	if err := g.superseded(); err != nil {
		return err
	}
	g.mu.Lock()
	g.closed = true
	ids := make([]string, 0, len(g.slots))
	for id := range g.slots {
		ids = append(ids, id)
	}
	g.mu.Unlock()
	for _, id := range ids {
		g.release(id, true)
	}
	for _, id := range ids {
		g.mu.Lock()
		s := g.slots[id]
		g.mu.Unlock()
		if s == nil {
			continue
		}
		select {
		case <-s.gone:
		case <-ctx.Done():
			return fmt.Errorf("%s: has not ended: %w", id, context.Cause(ctx))
		}
	}
	// A dead server has nothing of ours; a new one looks only at living claims.
	if err := g.Client.DropSlots(ctx, g.plan.ID, 0); err != nil && !api.Away(err) {
		g.Log.Warn("the server keeps the request", "error", err)
	}
	return g.Leave()
}

// Leave lets go of everything without touching a task.
func (g *gang) Leave() error {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.end()
	g.owned.Wait()
	g.feed.Close()
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, s := range g.slots {
		s.letGo()
	}
	g.Client.Close()
	return nil
}

func (g *gang) slotDir(id string) string { return filepath.Join(g.Dir, "slots", id) }

// writeJSON replaces a file as a whole.
func writeJSON(path string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return replaceFile(path, data)
}

func replaceFile(path string, data []byte) error {
	temp := path + ".new"
	if err := os.WriteFile(temp, data, 0o600); err != nil {
		return err
	}
	return os.Rename(temp, path)
}

func readJSON(path string, v any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}
