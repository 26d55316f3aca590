// Package event is the facts of a job's life, in past tense, and their codec:
// one JSON object a line, versioned. Facts come in from session; lines go out
// to the journal and come back from it.
package event

import "time"

// Event is one fact. Seq counts from 1 over the whole life of a job, whatever
// the term; Term says which coordinator wrote it.
type Event struct {
	Seq  int64     `json:"seq"`
	Term int64     `json:"term"`
	At   time.Time `json:"at"`
	Body Body      `json:"-"`
}

// Body is the part of a fact that depends on its type. Type is its stable name
// in the journal, such as "task.exited".
type Body interface{ Type() string }
