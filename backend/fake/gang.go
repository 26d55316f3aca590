package fake

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/executor"
	"github.com/muster-project/muster/plan"
)

type opener struct {
	cluster *Cluster
	job     string
}

// Open adopts the slots that still live and says which do not.
func (o opener) Open(ctx context.Context, p *plan.Plan, term int64, known []backend.Slot) (backend.Gang, error) {
	c := o.cluster
	g := &gang{cluster: c, job: o.job, term: term, feed: backend.NewFeed()}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range known {
		gr := c.granted[k.ID]
		switch {
		case gr == nil:
			g.tell(backend.Event{Gone: &backend.Gone{Slot: k.ID}})
		case gr.stop != nil:
			gr.gang = g
			g.tell(backend.Event{Adopted: &gr.Slot})
		default:
			gr.gang = g
			g.tell(backend.Event{Granted: &gr.Slot})
		}
	}
	return g, nil
}

// gang is one coordinator's view of its slots.
type gang struct {
	cluster *Cluster
	job     string
	term    int64
	feed    *backend.Feed
}

func (g *gang) Events() <-chan backend.Event { return g.feed.Events() }

func (g *gang) tell(e backend.Event) { g.feed.Tell(e) }

// Request waits in line until the whole gang fits.
func (g *gang) Request(_ context.Context, r backend.Request) error {
	c := g.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range c.waiting {
		if a.gang.job == g.job && a.Number == r.Number {
			a.gang = g
			return nil
		}
	}
	c.waiting = append(c.waiting, &ask{gang: g, Request: r})
	c.serve()
	return nil
}

// serve grants to the head of the line. The caller holds mu.
func (c *Cluster) serve() {
	for len(c.waiting) > 0 {
		a := c.waiting[0]
		free := c.Slots - len(c.granted)
		if free < a.Minimum-a.given && c.Defect != GrantsPartly || free == 0 && len(a.Asks) > 0 {
			a.gang.tell(backend.Event{Waiting: &backend.Waiting{Request: a.Number,
				Reasons: []string{fmt.Sprintf("%d slots asked, %d of %d are free", len(a.Asks), free, c.Slots)}}})
			return
		}
		n := min(free, len(a.Asks)-a.given)
		for _, want := range a.Asks[a.given : a.given+n] {
			c.grant(a, want)
		}
		a.given += n
		if a.given < a.Minimum {
			return
		}
		if c.Defect == KeepsSurplus {
			c.grant(a, a.Asks[0])
		}
		c.waiting = c.waiting[1:]
	}
}

func (c *Cluster) grant(a *ask, want backend.Ask) {
	c.serial++
	s := backend.Slot{ID: "f" + strconv.Itoa(c.serial), Request: a.Number, Task: want.Task, Node: "node" + strconv.Itoa(c.serial%4), Resources: want.Resources}
	c.granted[s.ID] = &grant{Slot: s, job: a.gang.job, gang: a.gang, done: make(chan struct{})}
	a.gang.tell(backend.Event{Granted: &s})
}

// Launch starts scripted executors.
func (g *gang) Launch(_ context.Context, starts []backend.Start) error {
	for _, st := range starts {
		var c executor.Context
		err := json.Unmarshal(st.Context, &c)
		if err == nil {
			err = g.launch(st.Slot, c)
		}
		g.tell(backend.Event{Started: &backend.Started{Slot: st.Slot.ID, Native: []byte(`"fake"`), Err: err}})
	}
	return nil
}

func (g *gang) launch(s backend.Slot, conf executor.Context) error {
	c := g.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	gr := c.granted[s.ID]
	if gr == nil && c.Defect != StartsLate {
		return fmt.Errorf("%s: is not granted", s.ID)
	}
	if gr == nil {
		gr = &grant{Slot: s, job: g.job, gang: g, done: make(chan struct{})}
		c.granted[s.ID] = gr
	}
	if gr.stop != nil {
		return nil
	}
	ctx, stop := context.WithCancel(c.life)
	gr.stop = stop
	c.wg.Go(func() {
		defer stop()
		x := &player{cluster: c, conf: conf}
		x.run(ctx)
		c.gone(gr, x.quit)
	})
	return nil
}

// gone frees a slot whose executor has ended.
func (c *Cluster) gone(gr *grant, quit bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(gr.done)
	wanted := quit || gr.free
	if c.Defect == LeavesSlots && wanted {
		return
	}
	delete(c.granted, gr.ID)
	if c.Defect != HidesLoss {
		e := backend.Gone{Slot: gr.ID}
		switch {
		case wanted:
		case gr.taken:
			e.Class, e.Reason, e.Status, e.Blameless = event.ClassPreempted, "it was preempted", 143, true
		default:
			e.Class, e.Reason = event.ClassLost, "its node vanished"
		}
		gr.gang.tell(backend.Event{Gone: &e})
	}
	c.serve()
}

// Release ends slots.
func (g *gang) Release(_ context.Context, slots []string, _ bool) error {
	c := g.cluster
	for _, id := range slots {
		c.mu.Lock()
		gr := c.granted[id]
		switch {
		case gr == nil:
			g.tell(backend.Event{Gone: &backend.Gone{Slot: id}})
		case gr.stop != nil:
			if c.Defect != KeepsSurplus || gr.Request != 1 {
				gr.free = true
				gr.stop()
			}
		case c.Defect == KeepsSurplus:
			g.tell(backend.Event{Gone: &backend.Gone{Slot: id}})
		default:
			delete(c.granted, id)
			g.tell(backend.Event{Gone: &backend.Gone{Slot: id}})
			c.serve()
		}
		c.mu.Unlock()
	}
	return nil
}

// Close ends what is left of the job.
func (g *gang) Close(ctx context.Context, _ event.Outcome) error {
	c := g.cluster
	c.mu.Lock()
	var rest []*grant
	for id, gr := range c.granted {
		switch {
		case gr.job != g.job || c.Defect == LeavesSlots || c.Defect == KeepsSurplus || c.Defect == StartsLate:
		case gr.stop == nil:
			delete(c.granted, id) // granted, but nothing was started in it
		default:
			rest = append(rest, gr)
		}
	}
	for i := 0; i < len(c.waiting); i++ {
		if c.waiting[i].gang.job == g.job {
			c.waiting = append(c.waiting[:i], c.waiting[i+1:]...)
			i--
		}
	}
	c.serve()
	c.mu.Unlock()
	for _, gr := range rest {
		gr.stop()
		select {
		case <-gr.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return g.leave()
}

// Leave lets go of the slots.
func (g *gang) Leave() error {
	if c := g.cluster; c.Defect == TouchesOnLoss {
		c.mu.Lock()
		for _, gr := range c.granted {
			if gr.job == g.job && gr.stop != nil {
				gr.stop()
			}
		}
		c.mu.Unlock()
	}
	return g.leave()
}

func (g *gang) leave() error {
	g.feed.Close()
	return nil
}

// Stop leaves a message for the coordinator, as clients do.
func (c *Cluster) Stop(_ context.Context, ref backend.Ref, now bool) error {
	c.mu.Lock()
	c.stops[ref.Job]++
	n := c.stops[ref.Job]
	c.mu.Unlock()
	if c.Defect == StopsOnce && n > 1 {
		return fmt.Errorf("%s: is being stopped already", ref.Job)
	}
	text := fmt.Sprintf(`{"stop":{"by":"test","now":%t}}`, now)
	path := filepath.Join(ref.Dir, "mailbox", fmt.Sprintf("stop-%d", n))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path+".json")
}
