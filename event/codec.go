package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Version is the major version of the stored format, the "v" of every line. It
// is raised only when an older reader would misread a line. Types and fields
// may be added without raising it: a reader meets the former as Unknown and
// passes over the latter.
const Version = 1

// ErrVersion says that a line was written by a muster whose format this one
// cannot read.
var ErrVersion = errors.New("written by a newer muster")

// Unknown is the body of an event whose type this muster does not know yet. It
// is kept, and encoded again, as it came.
type Unknown struct {
	Name string          // its type
	Data json.RawMessage // compact JSON
}

// Type is the name found in the journal.
func (u *Unknown) Type() string { return u.Name }

type envelope struct {
	V    int             `json:"v"`
	Seq  int64           `json:"seq"`
	Term int64           `json:"term"`
	At   time.Time       `json:"at"`
	Type string          `json:"type"`
	Data json.RawMessage `json:"data"`
}

var known = func() map[string]func() Body {
	m := make(map[string]func() Body, len(bodies))
	for _, b := range bodies {
		m[b().Type()] = b
	}
	return m
}()

// Marshal gives the line of one event, without its line feed. The line itself
// holds none.
func Marshal(e Event) ([]byte, error) {
	if e.Body == nil {
		return nil, fmt.Errorf("event %d: has no body", e.Seq)
	}
	name := e.Body.Type()
	var data []byte
	if u, ok := e.Body.(*Unknown); ok {
		data = u.Data
	} else {
		var err error
		if data, err = encode(e.Body); err != nil {
			return nil, fmt.Errorf("event %d: cannot encode %s: %w", e.Seq, name, err)
		}
	}
	line, err := encode(envelope{V: Version, Seq: e.Seq, Term: e.Term, At: e.At.UTC(), Type: name, Data: data})
	if err != nil {
		return nil, fmt.Errorf("event %d: cannot encode %s: %w", e.Seq, name, err)
	}
	return line, nil
}

// encode is json.Marshal that leaves <, > and & readable: commands and
// addresses are full of them, and people read the journal.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Unmarshal reads one line.
func Unmarshal(line []byte) (Event, error) {
	var env envelope
	if err := json.Unmarshal(line, &env); err != nil {
		// The version comes first: a newer envelope may have other types of fields.
		if v := majorOf(line); v > Version {
			return Event{}, versionError(v)
		}
		return Event{}, fmt.Errorf("not an event: %w", err)
	}
	switch {
	case env.V > Version:
		return Event{}, versionError(env.V)
	case env.V < 1:
		return Event{}, fmt.Errorf("not an event: v is %d", env.V)
	case env.Type == "":
		return Event{}, errors.New("not an event: it has no type")
	}
	body, err := decode(env.Type, env.Data)
	if err != nil {
		return Event{}, fmt.Errorf("event %d: cannot read %s: %w", env.Seq, env.Type, err)
	}
	// A zone at the edge of the calendar can lead to a year that has no spelling.
	at := env.At.UTC()
	if at.Year() < 0 || at.Year() > 9999 {
		return Event{}, fmt.Errorf("event %d: cannot read its time: the year is %d", env.Seq, at.Year())
	}
	return Event{Seq: env.Seq, Term: env.Term, At: at, Body: body}, nil
}

func decode(name string, data json.RawMessage) (Body, error) {
	if make, ok := known[name]; ok {
		// A null would leave an empty body, which nobody has written.
		if len(data) == 0 || data[0] != '{' {
			return nil, errors.New("data is not an object")
		}
		body := make()
		return body, json.Unmarshal(data, body)
	}
	if len(data) == 0 {
		data = json.RawMessage("null")
	}
	var b bytes.Buffer
	if err := json.Compact(&b, data); err != nil {
		return nil, err
	}
	return &Unknown{Name: name, Data: b.Bytes()}, nil
}

func majorOf(line []byte) int {
	var head struct {
		V int `json:"v"`
	}
	// Whatever can be read of a line that is wrong elsewhere is enough here.
	_ = json.Unmarshal(line, &head)
	return head.V
}

func versionError(v int) error {
	return fmt.Errorf("event format %d: %w: this one reads up to %d\nhint: use the muster that ran the job, or a later one",
		v, ErrVersion, Version)
}
