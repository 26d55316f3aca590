package event

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/muster-project/muster/plan"
)

// JobSubmitted is the first fact of every job and carries its plan.
type JobSubmitted struct {
	Plan *plan.Plan `json:"plan"`
	By   string     `json:"by"`
	Host string     `json:"host,omitempty"`
}

// TermOpened is the first fact of every segment. Previous is the term whose
// segment it continues (0 for the first) and Adopted the last sequence number
// taken over from it; what stands there beyond it, and every segment in
// between, was written by a superseded coordinator and never acted upon.
type TermOpened struct {
	Term     int64  `json:"term"`
	Previous int64  `json:"previous"`
	Adopted  int64  `json:"adopted"`
	Node     string `json:"node"`
	PID      int    `json:"pid"`
	Version  string `json:"version,omitempty"`
}

// SlotsRequested says that the gang of a stage, or replacements, were asked for.
type SlotsRequested struct {
	Request int           `json:"request"`
	Stage   int           `json:"stage"`
	Tasks   []plan.TaskID `json:"tasks"`
	Minimum int           `json:"minimum"`
	Replace bool          `json:"replace,omitempty"` // for slots that were lost
	// Preempted: for slots that were taken or given back. It may wait as a job in
	// its queue does.
	Preempted bool `json:"preempted,omitempty"`
}

// JobWaiting says why the gang is not complete. Written when the reasons change.
type JobWaiting struct {
	Request int      `json:"request"`
	Reasons []string `json:"reasons"`
}

// SlotGranted says that the backend gave a slot for a task.
type SlotGranted struct {
	Slot      string         `json:"slot"`
	Request   int            `json:"request"`
	Task      plan.TaskID    `json:"task"`
	Node      string         `json:"node"`
	Rack      string         `json:"rack,omitempty"`
	Resources plan.Resources `json:"resources"`
	Devices   []string       `json:"devices,omitempty"`
	CPUSet    string         `json:"cpu_set,omitempty"`
}

// RequestRefused says that a request can never be granted.
type RequestRefused struct {
	Request int    `json:"request"`
	Reason  string `json:"reason"`
}

// ExecutorStarted says that the backend acknowledged the start of an executor.
type ExecutorStarted struct {
	Slot    string          `json:"slot"`
	Control string          `json:"control,omitempty"`
	Native  json.RawMessage `json:"native,omitempty"` // what the backend needs to find it again
}

// SlotReleased says that a slot was asked to end, and why.
type SlotReleased struct {
	Slot   string `json:"slot"`
	Reason string `json:"reason"`
	Now    bool   `json:"now,omitempty"` // kill, do not ask
}

// SlotGone says that nothing of a slot is left. Class is empty if it ended
// because it was released.
type SlotGone struct {
	Slot   string `json:"slot"`
	Class  Class  `json:"class,omitempty"`
	Reason string `json:"reason,omitempty"`
	Status int    `json:"status,omitempty"`
	// Blameless: nothing of the job did anything wrong.
	Blameless bool `json:"blameless,omitempty"`
}

// EpochOpened says that a roll call begins: Tasks are to register, with these
// incarnations; Survivors go on and are part of its roster.
type EpochOpened struct {
	Epoch     int                 `json:"epoch"`
	Reason    string              `json:"reason"`
	Tasks     map[plan.TaskID]int `json:"tasks"`
	Survivors []plan.TaskID       `json:"survivors,omitempty"`
}

// TaskRegistered says that a task's executor answered the roll call.
type TaskRegistered struct {
	Task        plan.TaskID    `json:"task"`
	Incarnation int            `json:"incarnation"`
	Slot        string         `json:"slot"`
	Host        string         `json:"host"`
	Control     string         `json:"control,omitempty"`
	Ports       map[string]int `json:"ports,omitempty"`
}

// RosterCompleted says that the roll call of an epoch is complete.
type RosterCompleted struct {
	Roster *plan.Roster `json:"roster"`
}

// TaskStarted says that the processes of a task run.
type TaskStarted struct {
	Task        plan.TaskID `json:"task"`
	Incarnation int         `json:"incarnation"`
	PIDs        []int       `json:"pids,omitempty"`
}

// TaskReady says that a task listens on its first port or said so itself.
type TaskReady struct {
	Task        plan.TaskID `json:"task"`
	Incarnation int         `json:"incarnation"`
}

// TaskPublished is a key and value that a task made known, such as a dashboard's address.
type TaskPublished struct {
	Task  plan.TaskID `json:"task"`
	Key   string      `json:"key"`
	Value string      `json:"value"`
}

// TaskStopping says that a task is to be stopped, and why. It is ours: what
// the task then exits with is no failure of its own.
type TaskStopping struct {
	Task        plan.TaskID `json:"task"`
	Incarnation int         `json:"incarnation"`
	Reason      string      `json:"reason"`
	Now         bool        `json:"now,omitempty"` // kill without the stop signal
}

// TaskExited is the end of one incarnation of a task.
type TaskExited struct {
	Task        plan.TaskID `json:"task"`
	Incarnation int         `json:"incarnation"`
	Exit        Exit        `json:"exit"`
}

// Exit is how an incarnation ended, in the words of the verdict.
type Exit struct {
	Class   Class     `json:"class"`             // ClassNone if it succeeded
	Status  int       `json:"status"`            // as a shell gives it: 0–255, 128+n for a signal
	Signal  string    `json:"signal,omitempty"`  // "SIGKILL"
	Proc    int       `json:"proc,omitempty"`    // which of its processes
	Stopped bool      `json:"stopped,omitempty"` // it ended after we had told it to
	At      time.Time `json:"at"`                // coordinator's clock, corrected
	Text    string    `json:"text,omitempty"`    // "used 4.1 GiB of 4 GiB", "exec: no such file"
	Symptom bool      `json:"symptom,omitempty"` // looks like the echo of another task's end
	Stderr  []string  `json:"stderr,omitempty"`  // last lines
	// Blameless: its place was taken from it; what ran there did nothing wrong.
	Blameless bool `json:"blameless,omitempty"`
}

// Said is Text without the hints that may follow it on lines of their own, and
// the hints, a line each.
func (e Exit) Said() (text, hint string) {
	text, hint, _ = strings.Cut(e.Text, "\nhint: ")
	return text, strings.ReplaceAll(hint, "\nhint: ", "\n")
}

// Failed says that the incarnation ended badly by itself. One that was preempted
// did not: it goes on.
func (e Exit) Failed() bool { return e.Class != ClassNone && e.Class != ClassPreempted && !e.Stopped }

// Class is the kind of a failure.
type Class string

// The classes of failures.
const (
	ClassNone      Class = ""
	ClassExit      Class = "exit"          // the program's own status
	ClassSignal    Class = "signal"        // killed by a signal that was not ours
	ClassMemory    Class = "out-of-memory" // over its memory limit
	ClassPrepare   Class = "not-prepared"  // what comes before a start: storage, files, room on the node
	ClassStart     Class = "did-not-start" // no such program, a port that is taken
	ClassRegister  Class = "did-not-register"
	ClassTimeout   Class = "timed-out"
	ClassLost      Class = "lost" // executor, guardian or node vanished
	ClassCancelled Class = "cancelled"
	ClassPreempted Class = "preempted"
	ClassNetwork   Class = "network"
	ClassRefused   Class = "refused"
	ClassInternal  Class = "internal" // our fault
)

// ProgressReported is what tasks said of themselves since the last one.
type ProgressReported struct {
	Tasks map[plan.TaskID]Progress `json:"tasks"`
}

// Progress is one report of a task; further numbers are in Values.
type Progress struct {
	Step   int64              `json:"step,omitempty"`
	Total  int64              `json:"total,omitempty"`
	Values map[string]float64 `json:"values,omitempty"`
	Text   string             `json:"text,omitempty"`
	// StepTime is how long one step takes now, in seconds; 0: not known.
	StepTime float64 `json:"step_time,omitempty"`
}

// SignalRequested says that somebody wants a signal sent to tasks.
type SignalRequested struct {
	Request string        `json:"request"`
	Signal  string        `json:"signal"`
	Tasks   []plan.TaskID `json:"tasks"`
	By      string        `json:"by,omitempty"`
}

// SignalSent says that a task's executor delivered a requested signal.
type SignalSent struct {
	Request string      `json:"request"`
	Task    plan.TaskID `json:"task"`
	Error   string      `json:"error,omitempty"`
}

// JobWarned says what will go wrong if nobody does anything about it.
type JobWarned struct {
	Text string `json:"text"`
	Hint string `json:"hint,omitempty"`
}

// StopRequested says that somebody, or a timeout, wants the job stopped.
type StopRequested struct {
	Reason string `json:"reason"`
	By     string `json:"by,omitempty"`
	Class  Class  `json:"class"`
	Now    bool   `json:"now,omitempty"`
}

// RestartDecided says what is started again after a failure, a preemption or
// because somebody asked for it, and how many restarts are left.
type RestartDecided struct {
	Cause plan.TaskID   `json:"cause"`
	Scope string        `json:"scope"`
	Tasks []plan.TaskID `json:"tasks"`
	Left  int           `json:"left"`
	Exit  Exit          `json:"exit"`
	// Free: it costs none of the restarts.
	Free bool `json:"free,omitempty"`
	// Requeue names the request that all slots are given back and asked for anew;
	// empty: the tasks keep what slots they have.
	Requeue string `json:"requeue,omitempty"`
}

// VerdictReached says how the job will end; what follows only cleans up.
type VerdictReached struct {
	Outcome Outcome `json:"outcome"`
}

// JobFinished seals the job: nothing of it is left, nothing follows.
type JobFinished struct {
	Outcome Outcome `json:"outcome"`
}

// State is the word for how a job ended.
type State string

// The final states of a job.
const (
	Succeeded State = "succeeded"
	Failed    State = "failed"
	Stopped   State = "stopped"
	TimedOut  State = "timed-out"
	Preempted State = "preempted"
)

// Outcome is the verdict on a job.
type Outcome struct {
	State    State       `json:"state"`
	Status   int         `json:"status"`        // exit status of run and wait
	Origin   string      `json:"origin"`        // "task" or "muster": whose status it is
	Task     plan.TaskID `json:"task,omitzero"` // which failed first
	Class    Class       `json:"class,omitempty"`
	Text     string      `json:"text,omitempty"` // one sentence for people
	Hint     string      `json:"hint,omitempty"`
	Exit     *Exit       `json:"exit,omitempty"`
	Warnings []string    `json:"warnings,omitempty"`
}
