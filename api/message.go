package api

import (
	"fmt"
	"io/fs"
	"time"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/session"
)

// Version is the number in the paths. A server answers exactly one.
const Version = 1

// Hello is how a server introduces itself.
type Hello struct {
	API     int    `json:"api"`
	Version string `json:"version"` // of the binary, for people and for the choice of the newer
	PID     int    `json:"pid"`
	UID     int    `json:"uid"`    // whose server it is
	Shared  bool   `json:"shared"` // an administrator's, for all users
	Node    string `json:"node"`
	Jobs    int    `json:"jobs"`  // not sealed yet
	State   string `json:"state"` // directory with the jobs of whoever asks
}

// Job is a job as its journal tells it, and where it lies.
type Job struct {
	session.View
	Dir         string `json:"dir"`
	Coordinator bool   `json:"coordinator"`       // one lives
	Trouble     string `json:"trouble,omitempty"` // the journal cannot be read
}

// Mail is what a client leaves in a job's mailbox; the coordinator reads it.
// Exactly one field is set.
type Mail struct {
	Stop    *Stop    `json:"stop,omitempty"`
	Signal  *Signal  `json:"signal,omitempty"`
	Requeue *Requeue `json:"requeue,omitempty"`
}

// Stop asks a job to end.
type Stop struct {
	Reason string `json:"reason,omitempty"`
	By     string `json:"by"` // set by the server, from the kernel
	Now    bool   `json:"now,omitempty"`
}

// Signal asks for a signal to be sent to tasks; none named means all. Request
// makes a repeated message harmless.
type Signal struct {
	Request string        `json:"request"`
	Signal  string        `json:"signal"`
	Tasks   []plan.TaskID `json:"tasks,omitempty"`
	By      string        `json:"by"`
}

// Requeue asks a job to give its slots back and to go on in others. Request makes
// a repeated message harmless.
type Requeue struct {
	Request string `json:"request"`
	Reason  string `json:"reason,omitempty"`
	By      string `json:"by"`
}

// Capacity is what a machine has, what is free, and who holds the rest.
type Capacity struct {
	Node         string            `json:"node"`
	Capabilities plan.Capabilities `json:"capabilities"`
	Processors   int               `json:"processors"` // real ones; Capabilities counts what may be promised
	Free         plan.Resources    `json:"free"`
	GPUs         []string          `json:"gpus,omitempty"`
	Holds        []Hold            `json:"holds,omitempty"`
	Trouble      string            `json:"trouble,omitempty"` // what could not be looked at
	Claims       string            `json:"claims,omitempty"`  // why nothing can be handed out
}

// Hold is one slot of anybody on the machine.
type Hold struct {
	Job       string         `json:"job"`
	Slot      string         `json:"slot"`
	Task      plan.TaskID    `json:"task"`
	User      string         `json:"user"`
	Resources plan.Resources `json:"resources"`
	CPUSet    string         `json:"cpu_set,omitempty"`
	GPUs      []string       `json:"gpus,omitempty"`
}

// SlotRequest is a coordinator's wish for a gang.
type SlotRequest struct {
	Job     string        `json:"job"`
	Number  int           `json:"number"`
	Minimum int           `json:"minimum"`
	Asks    []backend.Ask `json:"asks"`             // in the order of need
	Ticket  int64         `json:"ticket,omitempty"` // from an earlier answer: keeps the place in the queue
}

// SlotAnswer is one line of the answer to a SlotRequest.
type SlotAnswer struct {
	Ticket  int64    `json:"ticket,omitempty"`
	Reasons []string `json:"reasons,omitempty"` // why it waits
	Refused string   `json:"refused,omitempty"`
	Granted []Grant  `json:"granted,omitempty"`
	Done    bool     `json:"done,omitempty"` // nothing follows
}

// Grant is a slot and the file that holds its resources; see package local.
type Grant struct {
	Slot  backend.Slot `json:"slot"`
	Claim string       `json:"claim"`
}

// Launched names slots whose executors hold their claims themselves.
type Launched struct {
	Job   string   `json:"job"`
	Slots []string `json:"slots"`
}

// Logs says which part of a task's output is wanted.
type Logs struct {
	Task   plan.TaskID
	Proc   int
	Stream string // "out" or "err"
	Since  time.Time
	Tail   int // last lines; negative means all
	Follow bool
}

// Lines says which of the lines that a job's tasks printed are wanted.
type Lines struct {
	Tasks       []plan.TaskID // empty: all
	Stream      string        // "", "out" or "err"
	Grep        string        // a regular expression
	Since       time.Time
	Tail        int // last lines of all tasks together; negative means all
	Incarnation int // 0: all
	Follow      bool
}

// Line is one of them. Whoever shows it makes it safe: the process that read it
// has no more rights than the job's owner, who could say anything in its place.
type Line struct {
	At          time.Time   `json:"at"`
	Task        plan.TaskID `json:"task"`
	Incarnation int         `json:"incarnation"`
	Proc        int         `json:"proc,omitempty"`
	Stderr      bool        `json:"stderr,omitempty"`
	Text        string      `json:"text"`
}

// Code is the kind of an error, so that nobody compares texts.
type Code string

// The kinds of errors.
const (
	CodeUnknown   Code = "unknown-job"
	CodeForbidden Code = "forbidden"
	CodeRefused   Code = "refused"  // the request is at fault
	CodeConflict  Code = "conflict" // the id is taken by another job
	CodeBusy      Code = "busy"
	CodeStorage   Code = "storage" // the state directory cannot be written
	CodeVersion   Code = "version"
	CodeInternal  Code = "internal"
)

// Error is an error that crossed the socket.
type Error struct {
	Code Code   `json:"code"`
	Text string `json:"text"`
	Tip  string `json:"hint,omitempty"`
}

func (e *Error) Error() string { return e.Text }

// Hint says what to do about it.
func (e *Error) Hint() string { return e.Tip }

// Is maps codes to the errors of other packages.
func (e *Error) Is(target error) bool {
	switch e.Code {
	case CodeUnknown:
		return target == backend.ErrUnknownJob
	case CodeForbidden:
		return target == fs.ErrPermission
	}
	return false
}

// Errorf makes an error of a kind.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Text: fmt.Sprintf(format, args...)}
}

// WithHint adds what to do about it.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Tip = fmt.Sprintf(format, args...)
	return e
}
