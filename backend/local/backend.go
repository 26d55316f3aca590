package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/muster-project/muster/api"
	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/executor"
	"github.com/muster-project/muster/history"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
	storage "github.com/muster-project/muster/storage/local"
)

// Backend is the client's side.
type Backend struct{ client *api.Client }

var (
	_ backend.Backend = (*Backend)(nil)
	_ backend.Lister  = (*Backend)(nil)
	_ backend.Logs    = (*Backend)(nil)
)

// New makes a backend that talks to a server.
func New(c *api.Client) *Backend { return &Backend{client: c} }

// Name is what "on:" in a job file says.
func (*Backend) Name() string { return "local" }

// Lease is how long executors go on without a coordinator. The server starts
// one again within seconds; it must itself be started again within this time.
const Lease = 10 * time.Minute

// Capabilities is what a machine can do.
func Capabilities(m Machine) plan.Capabilities {
	all := plan.Resources{CPUs: m.Shares, Memory: m.Memory, GPUs: len(m.GPUs)}
	return plan.Capabilities{Backend: "local", Whole: true, Grow: true, Adopt: true, SharedFiles: true, Lease: Lease,
		Total: all, Largest: all}
}

// Capabilities asks the server what this machine has.
func (b *Backend) Capabilities(ctx context.Context) (plan.Capabilities, error) {
	k, err := b.client.Capacity(ctx)
	return k.Capabilities, err
}

// Logs gives what the first process of a task's newest incarnation printed.
func (b *Backend) Logs(ctx context.Context, ref backend.Ref, id plan.TaskID, stream string) (io.ReadCloser, error) {
	return b.client.Logs(ctx, ref.Job, api.Logs{Task: id, Stream: stream, Tail: -1})
}

// Check says what this machine can never do, and what is not built yet.
func (b *Backend) Check(ctx context.Context, p *plan.Plan) ([]plan.Finding, error) {
	k, err := b.client.Capacity(ctx)
	if err != nil {
		return nil, err
	}
	return check(p, k), nil
}

// mostProcs bounds the processes of one task: more are a slip of the pen.
const mostProcs = 4096

func check(p *plan.Plan, k api.Capacity) []plan.Finding {
	out := plan.CheckFit(p, []plan.Node{{Name: k.Node, Resources: k.Capabilities.Largest}})
	if p.Queue != "" {
		out = append(out, plan.Finding{Path: "queue", Warning: true,
			Problem: p.Queue + " selects limits of the site file and nothing else: the local backend serves in the order of submission"})
	}
	if p.Priority != 0 {
		out = append(out, plan.Finding{Path: "priority", Warning: true,
			Problem: fmt.Sprintf("%d changes nothing here: the local backend serves in the order of submission", p.Priority)})
	}
	for i, f := range p.Work.Files {
		if f.Remote() {
			out = append(out, plan.Finding{Path: fmt.Sprintf("files[%d]", i), Problem: f.Source + ": the local backend reads files of this machine only",
				Hint: "fetch it first, and name the copy"})
		}
	}
	for _, r := range p.Roles {
		if r.Procs > mostProcs {
			out = append(out, plan.Finding{Path: "roles." + r.Name + ".procs", Problem: fmt.Sprintf("%d asked, at most %d run in one task", r.Procs, mostProcs)})
		}
		if r.Image != "" {
			out = append(out, plan.Finding{Path: "roles." + r.Name + ".image", Problem: "the local backend runs no container images yet",
				Hint: "leave image out here; python: {venv: DIR} gives tasks an environment of their own"})
		}
		if r.Resources.CPUs > float64(k.Processors) {
			out = append(out, plan.Finding{Path: "roles." + r.Name + ".cpus", Warning: true,
				Problem: fmt.Sprintf("%s asked, %s has %d: its tasks share them", number(r.Resources.CPUs), k.Node, k.Processors)})
		}
	}
	if p.Python.File().Remote() {
		out = append(out, plan.Finding{Path: "python.archive", Problem: p.Python.Archive + ": the local backend reads files of this machine only",
			Hint: "fetch it first, and name the copy"})
	}
	if _, written := p.Native["local"]; written {
		out = append(out, plan.Finding{Path: "native.local", Problem: "the local backend has no settings of its own"})
	}
	if k.Claims != "" {
		out = append(out, plan.Finding{Path: "local", Problem: k.Claims, Hint: "muster doctor shows where claims may lie; MUSTER_CLAIMS names another directory when the server starts"})
	}
	if k.Trouble != "" && asksGPU(p) {
		out = append(out, plan.Finding{Path: "gpus", Problem: k.Trouble, Hint: "nvidia-smi -L should list the GPUs of this machine"})
	}
	return out
}

func asksGPU(p *plan.Plan) bool {
	for _, r := range p.Roles {
		if r.Resources.GPUs > 0 {
			return true
		}
	}
	return false
}

// Submit hands the job to the server.
func (b *Backend) Submit(ctx context.Context, s backend.Submission) (backend.Ref, error) {
	return b.client.Submit(ctx, s)
}

// Find recovers a job by its id.
func (b *Backend) Find(ctx context.Context, id string) (backend.Ref, error) {
	j, err := b.client.Job(ctx, id)
	if err != nil {
		return backend.Ref{}, err
	}
	return backend.Ref{Job: id, Native: id, Dir: j.Dir}, nil
}

// List gives all jobs of the caller.
func (b *Backend) List(ctx context.Context) ([]backend.Ref, error) {
	jobs, err := b.client.Jobs(ctx, false)
	refs := make([]backend.Ref, len(jobs))
	for i, j := range jobs {
		refs[i] = backend.Ref{Job: j.ID, Native: j.ID, Dir: j.Dir}
	}
	return refs, err
}

// Status looks into the job's directory: it needs no server and no coordinator.
// Without a coordinator the phase is unknown, which is no end: one is started
// again, or has yet to be.
func (b *Backend) Status(ctx context.Context, ref backend.Ref) (backend.Status, error) {
	if _, err := os.Stat(ref.Dir); errors.Is(err, os.ErrNotExist) {
		return backend.Status{}, fmt.Errorf("%s: %w", ref.Job, backend.ErrUnknownJob)
	}
	s := backend.Status{Phase: backend.PhaseUnknown, Reason: "no coordinator lives", At: time.Now()}
	alive, err := Alive(ref.Dir)
	if err != nil {
		return s, err
	}
	if alive {
		s.Phase, s.Reason = backend.PhaseRunning, ""
	}
	for e, err := range history.Read(ctx, storage.FS{}, ref.Dir, 1) {
		if err != nil {
			return s, err
		}
		if f, ok := e.Body.(*event.JobFinished); ok {
			s.Phase, s.Reason = backend.PhaseEnded, f.Outcome.Text
		}
	}
	return s, nil
}

// Stop leaves a message for the coordinator; the server sees to it that one lives.
func (b *Backend) Stop(ctx context.Context, ref backend.Ref, now bool) error {
	return b.client.Stop(ctx, ref.Job, api.Stop{Reason: "stopped by the user", Now: now})
}

// Render gives the start file of each role's first executor, as far as it is
// known before the job has a coordinator, and the processes there will be.
func (*Backend) Render(p *plan.Plan) ([]backend.Artefact, error) {
	var out []backend.Artefact
	for _, r := range p.Roles {
		id := plan.TaskID{Role: r.Name}
		job := "JOB"
		c := executor.Context{Job: p.ID, Slot: slotID(1, id), Task: id, Term: 1,
			Endpoints: filepath.Join(job, "endpoint"), Address: "HOST:PORT",
			Root: filepath.Join(job, "tasks", r.Name+"-0"), Checkpoint: filepath.Join(job, "checkpoint"), Blobs: "STATE/blobs",
			Work: p.Work, Python: p.Python, Logs: p.Logs, Resources: r.Resources,
			Lease: leaseOf(p), Short: spec.Duration(executor.ShortLease), Grace: r.StopGrace}
		data, err := json.MarshalIndent(c, "", "  ")
		if err != nil {
			return nil, err
		}
		out = append(out, backend.Artefact{Name: r.Name + "-0.start.json", Data: append(data, '\n')})
	}
	return append(out, backend.Artefact{Name: "processes.txt", Data: []byte(sketch(p))}), nil
}

func leaseOf(p *plan.Plan) spec.Duration {
	if p.Timing.Lease > 0 {
		return p.Timing.Lease
	}
	return spec.Duration(Lease)
}

// sketch draws the processes of a job.
func sketch(p *plan.Plan) string {
	var b strings.Builder
	fmt.Fprintf(&b, "muster serve\n└─ muster coordinator --job JOB   %s\n", p.ID)
	for i, r := range p.Roles {
		branch, bar := "├─", "│ "
		if i == len(p.Roles)-1 {
			branch, bar = "└─", "  "
		}
		n := fmt.Sprint(r.Instances.Max)
		if r.Instances.Elastic() {
			n = fmt.Sprintf("%d to %d", r.Instances.Min, r.Instances.Max)
		}
		fmt.Fprintf(&b, "   %s %s × executor   %s\n   %s   └─ guardian\n   %s      └─ %s × %s\n", branch, n, r.Name, bar, bar,
			fmt.Sprint(max(1, r.Procs)), commandLine(r.Command))
	}
	return b.String()
}

func commandLine(c spec.Command) string {
	if c.Shell != "" {
		return "bash -c " + fmt.Sprintf("%q", c.Shell)
	}
	return strings.Join(c.Argv, " ")
}
