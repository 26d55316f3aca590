package yarn

import (
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/muster-project/muster/gang"
	"github.com/muster-project/muster/spec"
)

// Layout says where muster's files lie on the cluster's file system. All paths
// are absolute there and name no host.
type Layout struct {
	Root   string // of one user, ~/.muster by default
	Shared string // of all users, mode 1777
}

// Blob is a file that is named by what is in it, and never changed.
func (l Layout) Blob(sha string) string { return path.Join(l.Root, "blobs", sha) }

// Used is the empty file beside a blob that tells by its time when the blob was
// last wanted. The blob's own time must stay: YARN compares it.
func (l Layout) Used(sha string) string { return l.Blob(sha) + usedSuffix }

// Blobs is the directory of all blobs of a user.
func (l Layout) Blobs() string { return path.Join(l.Root, "blobs") }

// Jobs is the directory of all jobs of a user.
func (l Layout) Jobs() string { return path.Join(l.Root, "jobs") }

// Job is the directory of one job, mode 0700.
func (l Layout) Job(id string) JobDir { return JobDir(path.Join(l.Jobs(), id)) }

// Tickets is where the gangs of one partition leave their tickets. The
// partition without a name is written "default".
func (l Layout) Tickets(partition string) string {
	if partition == "" {
		partition = "default"
	}
	return path.Join(l.Shared, "tickets", partition)
}

const usedSuffix = ".used"

// JobDir is the directory of one job.
type JobDir string

// Submission is what the client handed over, as backend.Submission in JSON.
func (d JobDir) Submission() string { return path.Join(string(d), "submission.json") }

// Apps is the directory of the job's submissions to the resource manager.
func (d JobDir) Apps() string { return path.Join(string(d), "apps") }

// App is the n-th submission, from 1: a file that holds its application id and
// nothing else. Whoever makes it decides; others submit the same id.
func (d JobDir) App(n int) string { return path.Join(d.Apps(), fmt.Sprintf("%06d", n)) }

// AM is the file that the coordinator of the n-th submission is told by; it is
// localised as am.json.
func (d JobDir) AM(n int) string { return path.Join(string(d), fmt.Sprintf("am-%06d.json", n)) }

// Aside is left by a coordinator that stepped aside, and names which one.
func (d JobDir) Aside(n int) string { return path.Join(string(d), fmt.Sprintf("aside-%06d.json", n)) }

// Mailbox is where clients leave messages for the coordinator.
func (d JobDir) Mailbox() string { return path.Join(string(d), "mailbox") }

// Names of what lies in the coordinator's container, beside its working directory.
const (
	FileAM     = "am.json"  // AM, in JSON
	FileSite   = "site.xml" // the client's Hadoop configuration, without secrets
	FileMuster = "muster"   // this binary
)

// What lies in an executor's container.
const (
	FileExecutor = "executor" // the binary
	DirBlobs     = "blobs"    // archives and files of the plan, by content address
	// SecretStart is the alias under which an executor's start context travels
	// in the container's credentials, which only its user can read.
	SecretStart = "muster.start"
)

// AM is all that a coordinator is told of how it was submitted. What is in the
// plan is not repeated here.
type AM struct {
	Version int    `json:"version"` // AMVersion
	Job     string `json:"job"`
	User    string `json:"user"` // who submitted
	Dir     JobDir `json:"dir"`
	Root    string `json:"root"`
	Shared  string `json:"shared"`
	App     string `json:"app"` // application id of this submission
	Try     int    `json:"try"` // its number within the job, from 1
	// Ticket is the application whose launch is the job's place in the order of
	// gangs: that of the first submission, so App itself where Try is 1.
	Ticket string `json:"ticket"`
	// TicketTime is the place kept from before, zero where Try is 1: the resource
	// manager may forget the first application while the job still waits.
	TicketTime time.Time `json:"ticket_time,omitzero"`
	Queue      string    `json:"queue"` // its whole path where the client knew it
	// Partitions are the node labels that the job's slots are asked with, "" for
	// none; never empty.
	Partitions []string `json:"partitions"`
	// Label is the node label of roles that name none: the queue's own default.
	Label    string `json:"label,omitempty"`
	Priority int    `json:"priority,omitempty"`
	// Coordinator is the size of the coordinator's own container as it was asked for.
	Coordinator Size `json:"coordinator"`
	// Filesystem is where Dir and all other paths lie, as in fs.defaultFS.
	Filesystem string `json:"filesystem"`
	// Scheduler is what the client knew of the sizes that are granted.
	Scheduler Scheduler `json:"scheduler"`
	Muster    Resource  `json:"muster"`   // this binary
	Site      Resource  `json:"site"`     // the client's configuration
	Executor  Resource  `json:"executor"` // binary of the executors
	// Blobs are the archives and files of the plan by content address.
	Blobs map[string]Resource `json:"blobs,omitempty"`
	// Heartbeat is how often the coordinator asks the resource manager.
	Heartbeat spec.Duration `json:"heartbeat"`
	// Guarded says that the cluster cares who sees what, and so must the job's
	// page; Admins are those of the cluster and of the job's queue.
	Guarded bool        `json:"guarded,omitempty"`
	Admins  spec.People `json:"admins,omitzero"`
	ACLs    spec.ACLs   `json:"acls,omitzero"` // of the job
	// Principal is whom the keytab in the coordinator's container is for; empty
	// where there is none.
	Principal string `json:"principal,omitempty"`
	// Filesystems are those whose tokens the job gets beside those of Filesystem.
	Filesystems []string `json:"filesystems,omitempty"`
	// Kept says that somebody outside tends the job, so that stepping aside does
	// not end it.
	Kept bool `json:"kept"`
}

// AMVersion is raised when an older coordinator would misread the file.
const AMVersion = 1

// Aside is why and when the n-th coordinator of a job stepped aside, and the
// place in the order that the next one takes over.
type Aside struct {
	App        string    `json:"app"`    // that stepped aside
	Ticket     string    `json:"ticket"` // AM.Ticket
	TicketTime time.Time `json:"ticket_time"`
	Priority   int       `json:"priority,omitempty"`
	Partitions []string  `json:"partitions"`
	Head       string    `json:"head"` // application that it made room for
	At         time.Time `json:"at"`
	Reason     string    `json:"reason"`
}

// Gang is the step aside in the words of the rule.
func (a Aside) Gang() gang.Aside {
	return gang.Aside{App: a.App, Ticket: gang.Ticket{Priority: a.Priority, Time: a.TicketTime, ID: a.Ticket},
		Partitions: a.Partitions, Head: a.Head, At: a.At, Text: a.Reason}
}

// Resource is a file on the cluster's file system that a node copies into a
// container. Time is that of its last change, which YARN compares.
type Resource struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"`
	Time   int64  `json:"time"`             // ms since 1970
	Public bool   `json:"public,omitempty"` // every user of a node shares one copy
	Once   bool   `json:"once,omitempty"`   // of one application only: the node forgets it with it
}

// AppType is the type of all applications of ours.
const AppType = "MUSTER"

// Tag marks the applications of one job. The resource manager lower-cases tags,
// so these are.
func Tag(job string) string { return "muster:" + strings.ToLower(job) }

// TicketTag marks an application that keeps the place of an earlier one.
func TicketTag(app string) string { return "ticket:" + strings.ToLower(app) }

// PartitionTag says in which partitions a job asks for slots, so that those who
// may not read its files know whom it meets. Jobs without it ask in the one
// without a label. Labels are compared without case, as tags have none.
func PartitionTag(labels []string) string {
	return "partitions:" + strings.ToLower(strings.Join(labels, "+"))
}
