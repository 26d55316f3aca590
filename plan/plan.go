package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"github.com/muster-project/muster/spec"
)

// Plan is a job with every default filled and every policy decided: what will
// run. It is pure data, stored with the job, shown by "muster plan", and all
// that passes between framework and backend.
type Plan struct {
	Version   int                      `json:"version"` // PlanVersion
	ID        string                   `json:"id"`      // muster's own id, m-7k3f…, for life
	Name      string                   `json:"name"`
	User      string                   `json:"user"`
	Framework string                   `json:"framework"`
	Backend   string                   `json:"backend"`
	Site      string                   `json:"site,omitempty"`
	Queue     string                   `json:"queue,omitempty"`
	Priority  int                      `json:"priority,omitempty"`
	Roles     []Role                   `json:"roles"` // rank order
	Work      Work                     `json:"work"`
	Python    Python                   `json:"python,omitzero"`
	Env       map[string]spec.EnvValue `json:"env,omitempty"` // of every task, under the role's own
	Timeout   spec.Timeout             `json:"timeout,omitzero"`
	Timing    Timing                   `json:"timing"`
	Logs      spec.Logs                `json:"logs"`
	ACLs      spec.ACLs                `json:"acls,omitzero"`
	Native    map[string]any           `json:"native,omitempty"`
	Warnings  []string                 `json:"warnings,omitempty"`
}

// PlanVersion is raised when an older reader would misread a plan.
const PlanVersion = 1

// Role is a role with nothing left open.
type Role struct {
	Name         string                   `json:"name"`
	Instances    spec.Count               `json:"instances"`
	Procs        int                      `json:"procs"`
	Resources    Resources                `json:"resources"`
	Command      spec.Command             `json:"command"`
	Env          map[string]spec.EnvValue `json:"env,omitempty"`
	Image        string                   `json:"image,omitempty"`
	Ports        []Port                   `json:"ports,omitempty"`
	Wait         bool                     `json:"wait"`
	EndsJob      bool                     `json:"ends_job,omitempty"`
	OnFailure    spec.OnFailure           `json:"on_failure"`
	MaxFailures  spec.Failures            `json:"max_failures,omitzero"`
	Restarts     int                      `json:"restarts"`
	RestartScope spec.Scope               `json:"restart_scope"`
	After        []spec.After             `json:"after,omitempty"`
	Stage        int                      `json:"stage"`   // 0 is asked for first; n+1 once the "succeeded" roles of n have
	Counted      bool                     `json:"counted"` // has ranks and is part of the world size
	OnPreempt    *spec.OnPreempt          `json:"on_preempt,omitempty"`
	StopGrace    spec.Duration            `json:"stop_grace"`
	Linger       *spec.Linger             `json:"linger,omitempty"`
	Progress     spec.Progress            `json:"progress,omitzero"`
}

// Port is a port a task announces at the roll call. Number 0 is any free one.
// With Store the executor itself serves a key-value store there, fresh for each
// incarnation, from the moment it answers the roll call until the task ends.
type Port struct {
	Name   string `json:"name"`
	Number int    `json:"number,omitempty"`
	Store  bool   `json:"store,omitempty"`
}

// Resources is what one task, or one node, has.
type Resources struct {
	CPUs   float64 `json:"cpus"`
	Memory int64   `json:"memory"` // bytes
	GPUs   int     `json:"gpus,omitempty"`
}

// Work is what tasks find in their work directory.
type Work struct {
	// Source is the directory on the submitting machine, for people and for
	// in-place runs. Archive is the content address of its packed form.
	Source  string `json:"source,omitempty"`
	InPlace bool   `json:"in_place,omitempty"`
	Archive string `json:"archive,omitempty"`
	Files   []File `json:"files,omitempty"`
}

// File is one more file, already staged under its content address. A
// directory is staged as an archive whose Unpack is true.
type File struct {
	Source string `json:"source"`
	Name   string `json:"name"`
	Blob   string `json:"blob,omitempty"`
	Unpack bool   `json:"unpack,omitempty"`
	Mode   uint32 `json:"mode,omitempty"`
}

// Remote says that the file lies on the cluster's own file system, from where
// nodes fetch it themselves.
func (f File) Remote() bool {
	return f.Blob == "" && strings.Contains(f.Source, "://") && !strings.HasPrefix(f.Source, "file://")
}

// Key is the name under which a node finds the file's content: its content
// address, or for a remote one the hash of where it lies. Empty: at Source.
func (f File) Key() string {
	if !f.Remote() {
		return f.Blob
	}
	sum := sha256.Sum256([]byte(f.Source))
	return hex.EncodeToString(sum[:])
}

// Timing holds the clocks of the protocol; all are settings so that tests and
// unusual sites can change them.
type Timing struct {
	Beat        spec.Duration `json:"beat"`         // executor → coordinator
	LinkLoss    spec.Duration `json:"link_loss"`    // link down this long: the executor is lost
	Silence     spec.Duration `json:"silence"`      // link up but no beat this long: lost
	Lease       spec.Duration `json:"lease"`        // executors without coordinator end their tree
	Verdict     spec.Duration `json:"verdict"`      // the first failure is held this long for its cause
	ReplaceWait spec.Duration `json:"replace_wait"` // a gang that lost a slot waits this long for another
}

// beatShare is what one executor adds to everybody's interval: with it, a
// coordinator hears a thousand beats in a second, however many executors beat.
const beatShare = time.Millisecond

// beatMost is the longest interval that follows from a job's size: beats must
// come within every lease.
const beatMost = 30 * time.Second

// missedBeats is how many beats an executor may miss at least before it is silent.
const missedBeats = 3

// For is the timing of a job of n tasks: the larger it is, the more seldom its
// executors beat, and the longer they may be silent. That a connection closed is
// noticed at once all the same.
func (t Timing) For(n int) Timing {
	t.Beat = max(t.Beat, spec.Duration(min(time.Duration(n)*beatShare, beatMost)))
	t.Silence = max(t.Silence, missedBeats*t.Beat)
	return t
}

// DefaultTiming is used where nothing else is set; Lease 0 takes the backend's.
func DefaultTiming() Timing {
	d := func(t time.Duration) spec.Duration { return spec.Duration(t) }
	return Timing{Beat: d(time.Second), LinkLoss: d(15 * time.Second), Silence: d(30 * time.Second),
		Verdict: d(2 * time.Second), ReplaceWait: d(5 * time.Minute)}
}

// Role returns the role called name, or nil.
func (p *Plan) Role(name string) *Role {
	for i := range p.Roles {
		if p.Roles[i].Name == name {
			return &p.Roles[i]
		}
	}
	return nil
}

// Capabilities is what a backend can do, as far as a plan depends on it.
type Capabilities struct {
	Backend      string        `json:"backend"`
	Whole        bool          `json:"whole"`          // grants a gang at once, not slot by slot
	Grow         bool          `json:"grow"`           // more slots may be asked for later
	Adopt        bool          `json:"adopt"`          // slots survive their coordinator
	NodesMayCome bool          `json:"nodes_may_come"` // what does not fit today may fit tomorrow
	SharedFiles  bool          `json:"shared_files"`   // every node sees the submitter's files at the same path
	Images       bool          `json:"images"`         // container images can be run
	Lease        time.Duration `json:"lease"`          // a coordinator's lease
	Total        Resources     `json:"total"`          // of all nodes; zero if unknown
	Largest      Resources     `json:"largest"`        // of one node; zero if unknown
}

// Finding is one thing a backend or framework has to say about a plan.
type Finding struct {
	Path    string `json:"path"` // as the reader wrote it: roles.worker.gpus
	Problem string `json:"problem"`
	Hint    string `json:"hint,omitempty"`
	Warning bool   `json:"warning,omitempty"` // said, but not refused
}
