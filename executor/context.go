package executor

import (
	"time"

	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

// Context is what an executor is born with: the JSON in its start file (mode
// 0600). It never changes during the executor's life; what does change comes
// over the wire.
type Context struct {
	Job  string      `json:"job"`
	Slot string      `json:"slot"`
	Task plan.TaskID `json:"task"`
	Term int64       `json:"term"`

	// Endpoints is the directory in which each coordinator leaves a file named by
	// its term with its address; Address is the one that wrote this context.
	Endpoints string `json:"endpoints"`
	Address   string `json:"address"`
	Authority []byte `json:"authority"` // PEM: certificate of the job's own authority
	Cert      []byte `json:"cert"`      // PEM: names job, role and index
	Key       []byte `json:"key"`       // PEM

	// Root is this task's own directory; incarnations are directories in it.
	Root       string `json:"root"`
	Checkpoint string `json:"checkpoint"`
	Blobs      string `json:"blobs"` // where content-addressed archives and files are read
	Host       string `json:"host"`  // address to announce; empty: the one that reaches the coordinator

	// Storage says where Endpoints and Keep lie: Hadoop's configuration of that
	// file system, as far as a client needs it. Empty: on this machine. User is
	// whose job it is, and who asks where names are believed.
	Storage map[string]string `json:"storage,omitempty"`
	User    string            `json:"user,omitempty"`
	// Keep is the directory that gets the logs of this task as chunks, one below it
	// for each incarnation; LogDir is a directory of this node that gets links to
	// them. Empty: not wanted.
	// Saved is the job's checkpoint directory in that storage, which Checkpoint is
	// kept in step with. Empty: every node sees Checkpoint itself.
	Saved  string `json:"saved,omitempty"`
	Keep   string `json:"keep,omitempty"`
	LogDir string `json:"log_dir,omitempty"`

	Work   plan.Work   `json:"work"`
	Python plan.Python `json:"python,omitzero"`
	Shelf  string      `json:"shelf,omitempty"` // where this node makes environments
	Logs   spec.Logs   `json:"logs"`
	// Progress is what of the task's output tells how far it is.
	Progress spec.Progress     `json:"progress,omitzero"`
	Environ  map[string]string `json:"environ,omitempty"` // the submitter's environment
	Umask    int               `json:"umask"`

	Resources plan.Resources `json:"resources"`
	Devices   []string       `json:"devices,omitempty"` // GPUs to make visible; empty hides all
	// AsFound leaves it to the node which of its GPUs are visible: it did not say
	// which ones it granted.
	AsFound bool   `json:"as_found,omitempty"`
	CPUSet  string `json:"cpu_set,omitempty"` // "0-3,8"
	Cgroup  string `json:"cgroup,omitempty"`  // parent for the task's own; empty: make one where possible

	Lease spec.Duration `json:"lease"`
	Short spec.Duration `json:"short"` // when neither coordinator nor job directory can be reached
	Grace spec.Duration `json:"grace"` // between stop signal and kill when nobody else says
}

// ShortLease is used where the context gives none.
const ShortLease = 60 * time.Second
