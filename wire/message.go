package wire

import (
	"time"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/plan"
)

// Version is the protocol's version; a peer with another major version is refused.
const Version = 1

// Hello is the first message of an executor on every connection. It carries all
// it knows, so that a coordinator of any term can go on from it.
type Hello struct {
	Job         string
	Slot        string
	Task        plan.TaskID
	Binary      string // version of the executor, for people
	Control     string // host:port where the executor can be told of a new coordinator
	Host        string // its own address
	PID         int
	Term        int64 // highest term it has seen
	Incarnation int   // 0: none yet
	Phase       Phase
	Ports       map[string]int
	PIDs        []int
	Ready       bool
	Exit        *event.Exit // of Incarnation, once it ended
}

// Phase is where an executor's current incarnation is.
type Phase string

// The phases of an incarnation, in their order.
const (
	PhaseIdle      Phase = "idle"      // nothing prepared
	PhasePreparing Phase = "preparing" // localising
	PhaseHeld      Phase = "held"      // registered, ports held, waits for Start
	PhaseRunning   Phase = "running"
	PhaseExited    Phase = "exited"
)

// Welcome is the coordinator's answer to Hello.
type Welcome struct {
	Term  int64
	Beat  time.Duration // interval of beats
	Lease time.Duration // without a coordinator for this long, end the tree
	Now   time.Time     // coordinator's clock
}

// Message goes up, from executor to coordinator. Exactly one field is set.
type Message struct {
	Registered *Registered
	Started    *Started
	Ready      *Ready
	Beat       *Beat
	Published  *Published
	Exited     *Exited
	Signalled  *Signalled
}

// Directive goes down, from coordinator to executor. Exactly one field is set.
// Every directive may be repeated: it is judged by Incarnation and Term.
type Directive struct {
	Prepare     *Prepare
	Start       *Start
	Stop        *Stop
	Signal      *Signal
	Preempt     *Preempt
	Credentials *Credentials
	Quit        *Quit
	OpenLog     *OpenLog
}

// Prepare tells an executor to localise and to hold ports for an incarnation.
type Prepare struct {
	Incarnation int
	Epoch       int
	Ports       []plan.Port
}

// Registered answers Prepare. Exit is set if it could not be done.
type Registered struct {
	Incarnation int
	Host        string
	Ports       map[string]int
	Exit        *event.Exit
}

// Start tells an executor to start the processes of an incarnation.
type Start struct {
	Incarnation int
	Epoch       int
	Launch      plan.Launch
}

// Started answers Start.
type Started struct {
	Incarnation int
	PIDs        []int
}

// Ready says that the task listens on its first port or said so itself.
type Ready struct{ Incarnation int }

// Beat says that the executor lives. Sent is its clock, from which the
// coordinator estimates the offset.
type Beat struct {
	Incarnation int
	Sent        time.Time
	Usage       Usage
	Progress    *event.Progress // if it changed
}

// Usage is what a task's processes use.
type Usage struct {
	CPU    time.Duration // since start
	Memory int64         // resident bytes now
	Procs  int
	GPU    []int // utilisation per device, percent
}

// Published is a key and value that a task made known.
type Published struct{ Key, Value string }

// Exited is the end of an incarnation. It is repeated in Hello until a
// coordinator has prepared the next one or sent Quit.
type Exited struct {
	Incarnation int
	Exit        event.Exit
}

// Stop tells an executor to end an incarnation: signal, grace, kill.
type Stop struct {
	Incarnation int
	Signal      string // default SIGTERM
	Grace       time.Duration
	Now         bool
	Reason      string
}

// Signal tells an executor to send a signal to its task's processes.
type Signal struct {
	Request     string
	Incarnation int
	Signal      string
}

// Signalled answers Signal.
type Signalled struct {
	Request string
	Error   string
}

// Preempt tells an executor that its slot will be taken away at a time. The task
// is told by a signal, and finds the time in its deadline file; it goes on until
// it ends by itself or the slot does.
type Preempt struct {
	Incarnation int
	Signal      string        // none: the file alone
	Before      time.Duration // the signal comes so long before the deadline, or at once if that is too late
	Deadline    time.Time     // on the coordinator's clock; zero: the slot stays, the file goes
	Reason      string
}

// Credentials replace what an executor logs in to storage with, and what its task
// finds in its token file. Data is a file of Hadoop tokens; an older Serial than
// the one at hand is passed over.
type Credentials struct {
	Serial int64
	Data   []byte
}

// Quit tells an executor to end its tree and itself. It is the last directive.
type Quit struct{ Reason string }

// OpenLog asks the executor to open a connection of its own on which it sends
// a log, with the flow control of that connection.
type OpenLog struct {
	Stream      string // names the connection
	Incarnation int
	Name        string // "0.out", "1.err"
	Offset      int64
	Follow      bool
	Timed       bool // as frames of package keep, which carry offsets and times, instead of bytes
}
