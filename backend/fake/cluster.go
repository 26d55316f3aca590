// Package fake is a scripted backend in memory: jobs are driven by the real
// coordinator over real links, but nodes, slots and executors are goroutines,
// and tasks do what their command line says (see Script). A defect can be
// planted in it, to show that the conformance suite notices.
package fake

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/plan"
)

// Cluster is a number of equal slots and the jobs in them.
type Cluster struct {
	Slots  int    // how many slots there are
	State  string // directory for job directories, as the coordinator wants them
	Defect Defect
	Log    *slog.Logger
	// Place makes a job's directory and writes the submission there.
	Place func(dir string, s backend.Submission) error
	// Coordinate runs the coordinator of a job directory.
	Coordinate func(ctx context.Context, dir string, g backend.Opener) error

	life   context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu       sync.Mutex
	jobs     map[string]*job
	granted  map[string]*grant // by slot
	waiting  []*ask
	serial   int
	stops    map[string]int
	blind    bool
	finished map[string]bool
}

type job struct {
	backend.Ref
	terms int
	err   error
	logs  map[string][]byte // by task
}

// grant is one slot in use.
type grant struct {
	backend.Slot
	job   string
	gang  *gang // whom to tell; changes with the term
	stop  context.CancelFunc
	done  chan struct{} // its executor has ended
	free  bool          // it was released
	taken bool          // it was preempted
}

// ask is a request that waits, first come first served.
type ask struct {
	gang *gang
	backend.Request
	given int
}

var (
	_ backend.Backend = (*Cluster)(nil)
	_ backend.Logs    = (*Cluster)(nil)
)

// Start makes the cluster ready. Stop must be called in the end.
func (c *Cluster) Start() {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	c.life, c.cancel = context.WithCancel(context.Background())
	c.jobs, c.granted, c.stops, c.finished = map[string]*job{}, map[string]*grant{}, map[string]int{}, map[string]bool{}
}

// Shutdown ends everything and waits for it.
func (c *Cluster) Shutdown() {
	c.cancel()
	c.wg.Wait()
}

// Name is "fake".
func (c *Cluster) Name() string { return "fake" }

// Capabilities says that gangs are granted whole and slots outlive coordinators.
func (c *Cluster) Capabilities(context.Context) (plan.Capabilities, error) {
	n := float64(c.Slots)
	return plan.Capabilities{Backend: "fake", Whole: true, Grow: true, Adopt: true, SharedFiles: true, Lease: time.Minute,
		Total: plan.Resources{CPUs: n}, Largest: plan.Resources{CPUs: n}}, nil
}

// Check refuses a gang that can never fit.
func (c *Cluster) Check(_ context.Context, p *plan.Plan) ([]plan.Finding, error) {
	need := 0
	for _, r := range p.Roles {
		need += r.Instances.Min
	}
	if need <= c.Slots {
		return nil, nil
	}
	return []plan.Finding{{Path: "roles", Problem: fmt.Sprintf("%d tasks at once, the cluster has %d slots", need, c.Slots)}}, nil
}

// Render shows the script of each role.
func (c *Cluster) Render(p *plan.Plan) ([]backend.Artefact, error) {
	var b strings.Builder
	for _, r := range p.Roles {
		fmt.Fprintf(&b, "%s: %s\n", r.Name, strings.Join(r.Command.Argv, " "))
	}
	return []backend.Artefact{{Name: "script", Data: []byte(b.String())}}, nil
}

// Submit starts the first coordinator of a job.
func (c *Cluster) Submit(ctx context.Context, s backend.Submission) (backend.Ref, error) {
	c.mu.Lock()
	j := c.jobs[s.Plan.ID]
	if j == nil {
		dir := filepath.Join(c.State, "jobs", s.Plan.ID)
		if err := c.Place(dir, s); err != nil {
			c.mu.Unlock()
			return backend.Ref{}, err
		}
		j = &job{Ref: backend.Ref{Job: s.Plan.ID, Native: "fake-" + s.Plan.ID, Dir: dir}, logs: map[string][]byte{}}
		c.jobs[s.Plan.ID] = j
	}
	first := j.terms == 0
	c.mu.Unlock()
	if first {
		return j.Ref, c.Takeover(j.Job)
	}
	return j.Ref, nil
}

// Takeover starts one more coordinator of a job, whatever became of the others.
func (c *Cluster) Takeover(id string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	j := c.jobs[id]
	if j == nil {
		return fmt.Errorf("%s: %w", id, backend.ErrUnknownJob)
	}
	j.terms++
	c.wg.Go(func() {
		err := c.Coordinate(c.life, j.Dir, opener{c, id})
		c.mu.Lock()
		defer c.mu.Unlock()
		if !errors.Is(err, backend.ErrSuperseded) {
			j.err = err
			c.finished[id] = err == nil && c.life.Err() == nil
		}
	})
	return nil
}

// Opener lets a test be the coordinator of a job.
func (c *Cluster) Opener(id string) backend.Opener { return opener{c, id} }

// Find knows every job that was submitted.
func (c *Cluster) Find(_ context.Context, id string) (backend.Ref, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if j := c.jobs[id]; j != nil {
		return j.Ref, nil
	}
	return backend.Ref{}, fmt.Errorf("%s: %w", id, backend.ErrUnknownJob)
}

// Blind makes the cluster unable to say what state its jobs are in.
func (c *Cluster) Blind(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.blind = on
}

// Status says what the cluster knows.
func (c *Cluster) Status(_ context.Context, ref backend.Ref) (backend.Status, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	st := backend.Status{Phase: backend.PhaseRunning, At: time.Now()}
	switch {
	case c.blind && c.Defect == GuessesEnds:
		st.Phase = backend.PhaseEnded
	case c.blind:
		st.Phase, st.Reason = backend.PhaseUnknown, "the cluster does not answer"
	case c.jobs[ref.Job] == nil:
		return st, fmt.Errorf("%s: %w", ref.Job, backend.ErrUnknownJob)
	case c.finished[ref.Job]:
		st.Phase = backend.PhaseEnded
	case c.held(ref.Job) == 0:
		st.Phase = backend.PhaseQueued
	}
	return st, nil
}

// Held is how many slots a job holds now.
func (c *Cluster) Held(id string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held(id)
}

func (c *Cluster) held(id string) int {
	n := 0
	for _, g := range c.granted {
		if g.job == id {
			n++
		}
	}
	return n
}

// Lose makes the node of a task's slot vanish.
func (c *Cluster) Lose(id string, task plan.TaskID) error {
	c.mu.Lock()
	var lost *grant
	for _, g := range c.granted {
		if g.job == id && g.Task == task {
			lost = g
		}
	}
	c.mu.Unlock()
	if lost == nil || lost.stop == nil {
		return fmt.Errorf("%s: %s runs nowhere", id, task)
	}
	lost.stop()
	<-lost.done
	return nil
}

// Preempt takes a task's slot for somebody else, after a warning.
func (c *Cluster) Preempt(id string, task plan.TaskID, notice time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, gr := range c.granted {
		if gr.job != id || gr.Task != task || gr.stop == nil {
			continue
		}
		if c.Defect != HidesWarnings {
			gr.gang.tell(backend.Event{Preempting: &backend.Preempting{Slots: []string{gr.ID}, Deadline: time.Now().Add(notice), Reason: "the script says so"}})
		}
		c.wg.Go(func() {
			t := time.NewTimer(notice)
			defer t.Stop()
			select {
			case <-t.C:
				c.mu.Lock()
				gr.taken = true
				c.mu.Unlock()
				gr.stop()
			case <-gr.done:
			case <-c.life.Done():
			}
		})
		return nil
	}
	return fmt.Errorf("%s: %s runs nowhere", id, task)
}

// Logs gives what a task printed, all incarnations after each other.
func (c *Cluster) Logs(_ context.Context, ref backend.Ref, id plan.TaskID, stream string) (io.ReadCloser, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	j := c.jobs[ref.Job]
	if j == nil {
		return nil, fmt.Errorf("%s: %w", ref.Job, backend.ErrUnknownJob)
	}
	text := j.logs[id.String()]
	if stream != "out" {
		text = nil
	}
	if c.Defect == LosesLines && len(text) > 0 {
		text = text[:strings.LastIndex(strings.TrimSuffix(string(text), "\n"), "\n")+1]
	}
	return io.NopCloser(strings.NewReader(string(text))), nil
}

func (c *Cluster) print(id string, task plan.TaskID, line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	j := c.jobs[id]
	j.logs[task.String()] = append(j.logs[task.String()], line+"\n"...)
}
