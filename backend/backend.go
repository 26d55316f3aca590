// Package backend is where jobs run: a plan comes in, slots, their events and
// their end come out. README.md is the contract in prose; backendtest holds
// every implementation to it.
package backend

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/storage"
)

// Backend is one place where jobs run, seen from the client.
type Backend interface {
	Name() string
	Capabilities(ctx context.Context) (plan.Capabilities, error)
	// Check says everything that can be refused before submitting. An error means
	// that the backend could not be asked.
	Check(ctx context.Context, p *plan.Plan) ([]plan.Finding, error)
	// Render gives the native artefacts of a plan. Pure.
	Render(p *plan.Plan) ([]Artefact, error)
	// Submit starts the job's coordinator. It may be repeated with the same job
	// id and then gives the first answer again.
	Submit(ctx context.Context, s Submission) (Ref, error)
	// Find recovers the reference of a job by its id: ErrUnknownJob if there is none.
	Find(ctx context.Context, id string) (Ref, error)
	// Status asks the backend, not the journal. Only a terminal state it names is an end.
	Status(ctx context.Context, ref Ref) (Status, error)
	// Stop asks the job to end, gracefully or now. It may be repeated; stopping
	// what has ended is fine.
	Stop(ctx context.Context, ref Ref, now bool) error
}

// Submission is what a client hands over.
type Submission struct {
	Plan *plan.Plan
	// Environ is the submitter's environment, as in os.Environ; Dir the directory
	// it was submitted from; Umask its file mode mask.
	Environ []string
	Dir     string
	Umask   int
}

// Ref is a backend's own name for a job.
type Ref struct {
	Job    string `json:"job"`             // muster's id
	Native string `json:"native"`          // application id, pod group, slurm job, …
	Dir    string `json:"dir"`             // the job's directory on the backend's storage
	Owner  string `json:"owner,omitempty"` // whose job it is, where it is not the caller's
}

// Status is what a backend says of a job.
type Status struct {
	Phase  Phase     `json:"phase"`
	Reason string    `json:"reason,omitempty"`
	At     time.Time `json:"at"` // when this was true; older if the backend did not answer
}

// Phase is a backend's word for where a job is.
type Phase string

// The phases.
const (
	PhaseUnknown Phase = "unknown" // not an end
	PhaseQueued  Phase = "queued"
	PhaseRunning Phase = "running"
	PhaseEnded   Phase = "ended" // terminal
)

// Artefact is one native file that a plan becomes.
type Artefact struct {
	Name string
	Data []byte
}

// ErrUnknownJob says that a backend has never heard of a job.
var ErrUnknownJob = errors.New("no such job")

// ErrUnusable says that a backend cannot be called: its configuration is wrong, or
// there is no proof of who calls. Nothing was asked of it.
var ErrUnusable = errors.New("cannot be called")

// ErrSuperseded says that another coordinator with a higher term owns the job.
var ErrSuperseded = errors.New("superseded by a coordinator with a higher term")

// Gang is a job's slots, seen from inside its coordinator. Every method may be
// called again with the same argument, and then changes nothing more. Methods
// return quickly; what comes of them arrives through Events.
type Gang interface {
	// Request asks for slots. The same Number may come again after a takeover.
	Request(ctx context.Context, r Request) error
	// Launch starts the executors of granted slots.
	Launch(ctx context.Context, starts []Start) error
	// Release ends slots with everything in them, kindly or, when now is set, at once.
	Release(ctx context.Context, slots []string, now bool) error
	// Events delivers what happened, in order. It is closed after Close or Leave.
	Events() <-chan Event
	// Close ends the job at the backend: nothing of it may be left.
	Close(ctx context.Context, o event.Outcome) error
	// Leave abandons the slots to the next term without touching a task.
	Leave() error
}

// Opener makes a Gang inside a coordinator.
type Opener interface {
	// Open takes the plan, this coordinator's term and the slots that the journal
	// knows. Known slots are adopted (Adopted) or reported gone (Gone).
	Open(ctx context.Context, p *plan.Plan, term int64, known []Slot) (Gang, error)
}

// Request asks for one slot for each task, at least Minimum of them at once.
type Request struct {
	Number  int // counts from 1 within the job
	Minimum int
	Asks    []Ask
}

// Ask is the wish for one slot.
type Ask struct {
	Task      plan.TaskID
	Resources plan.Resources
}

// Slot is what a backend granted for one task.
type Slot struct {
	ID        string
	Request   int
	Task      plan.TaskID
	Node      string
	Rack      string
	Resources plan.Resources
	Devices   []string
	CPUSet    string
	Native    []byte // from Started; what finds the executor again
}

// Start is everything an executor needs to be born.
type Start struct {
	Slot    Slot
	Context []byte // contents of its start file; see executor.Context
}

// Event is one thing that happened to a gang. Exactly one field is set.
type Event struct {
	Waiting    *Waiting
	Granted    *Slot
	Refused    *Refused
	Started    *Started
	Adopted    *Slot
	Gone       *Gone
	Preempting *Preempting
	Warning    *Warning
	Aside      *Aside
	Superseded bool
}

// Waiting says why a request is not granted yet.
type Waiting struct {
	Request int
	Reasons []string
}

// Refused says that a request can never be granted.
type Refused struct {
	Request int
	Reason  string
}

// Started acknowledges Launch for one slot. Err says that it did not start.
type Started struct {
	Slot   string
	Native []byte
	Err    error
}

// Gone says that nothing of a slot is left. A slot may go without having been
// released: then Class says why.
type Gone struct {
	Slot   string
	Class  event.Class
	Reason string
	Status int
	// Blameless: nothing that ran in it did anything wrong; its node was lost, or
	// the place wanted the room.
	Blameless bool
}

// Preempting says that slots will be taken away at a deadline, and why. Without a
// deadline it takes that back: they stay.
type Preempting struct {
	Slots    []string
	Deadline time.Time
	Reason   string
}

// Warning says what will go wrong if nobody does anything about it.
type Warning struct{ Text, Hint string }

// Aside says that this coordinator must end although the job has not: its own
// place is what another gang lacks. The coordinator notes the reason in the
// journal and leaves; whoever keeps the job submits it again with its old place
// in the order.
type Aside struct {
	Request int // that waits
	Reason  string
}

// Reporter is implemented by gangs whose resource manager shows how far a job
// is. The fraction is what the tasks said of themselves, 0 to 1.
type Reporter interface {
	Report(fraction float64)
}

// Keeper is implemented by backends on which somebody outside must tend a job
// whose coordinator cannot live: submit it again after it stepped aside, seal
// its journal when the backend has ended it. Any number of keepers may tend a
// job at the same time.
type Keeper interface {
	// Keep returns when the job is sealed (nil), or with the context's error.
	Keep(ctx context.Context, ref Ref) error
}

// Home is implemented by backends whose job directories do not lie on this
// machine's own file system.
type Home interface {
	FS() storage.FS
	// Jobs is the directory of the caller's job directories.
	Jobs() string
}

// Pager is implemented by backends whose resource manager shows the way to the
// page of a running coordinator.
type Pager interface {
	// Page is the address, ending in a slash; empty while there is none.
	Page(ctx context.Context, ref Ref) (string, error)
}

// Stager is implemented by backends that keep archives and files elsewhere than
// in the state directory of this machine.
type Stager interface {
	// Stage makes the content of local blob files available to the job's nodes.
	// blobs maps content addresses to local paths; tell is told what takes time.
	Stage(ctx context.Context, p *plan.Plan, blobs map[string]string, tell func(format string, args ...any)) error
}

// Doctor is implemented by backends that can say what is wrong with their site.
type Doctor interface {
	Diagnose(ctx context.Context) []Diagnosis
}

// Diagnosis is one thing that was looked at.
type Diagnosis struct {
	Check   string `json:"check"`
	Verdict string `json:"verdict"` // ok, warning, failed
	Text    string `json:"text"`
	Hint    string `json:"hint,omitempty"`
}

// Logs is implemented by backends that can give a task's output after its end.
type Logs interface {
	Logs(ctx context.Context, ref Ref, id plan.TaskID, stream string) (io.ReadCloser, error)
}

// Explainer is implemented by backends that can say why a job waits: every
// reason, the most important first; none if it does not wait.
type Explainer interface {
	Explain(ctx context.Context, ref Ref) ([]Reason, error)
}

// Reason is one reason why a job waits.
type Reason struct {
	Code    string             `json:"code"` // a word for programs: am_share, user_limit, …
	Text    string             `json:"text"` // with its numbers
	Next    string             `json:"next"` // what the reader can do
	Numbers map[string]float64 `json:"numbers,omitempty"`
}

// Lister is implemented by backends that can list jobs.
type Lister interface {
	List(ctx context.Context) ([]Ref, error)
}
