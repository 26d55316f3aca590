package plan

import (
	"fmt"
	"strconv"
	"strings"
)

// TaskID names one task; it prints and is written as role/index.
type TaskID struct {
	Role  string
	Index int
}

func (t TaskID) String() string { return t.Role + "/" + strconv.Itoa(t.Index) }

// Dir is the name of everything that is a task's own on a file system: role-index.
func (t TaskID) Dir() string { return t.Role + "-" + strconv.Itoa(t.Index) }

// ParseTaskDir reads what Dir gave.
func ParseTaskDir(s string) (TaskID, error) {
	at := strings.LastIndexByte(s, '-')
	n, err := strconv.Atoi(s[at+1:])
	if at < 1 || err != nil || n < 0 {
		return TaskID{}, fmt.Errorf("%s: not the name of a task's directory", s)
	}
	return TaskID{Role: s[:at], Index: n}, nil
}

// IsZero says that no task is named.
func (t TaskID) IsZero() bool { return t.Role == "" }

// MarshalText writes role/index, and nothing where no task is named, as
// ParseTask reads it.
func (t TaskID) MarshalText() ([]byte, error) {
	if t.IsZero() {
		return nil, nil
	}
	return []byte(t.String()), nil
}

// UnmarshalText reads role/index.
func (t *TaskID) UnmarshalText(b []byte) error {
	id, err := ParseTask(string(b))
	*t = id
	return err
}

// ParseTask reads role/index.
func ParseTask(s string) (TaskID, error) {
	if s == "" {
		return TaskID{}, nil
	}
	role, index, ok := strings.Cut(s, "/")
	n, err := strconv.Atoi(index)
	if !ok || role == "" || err != nil || n < 0 {
		return TaskID{}, fmt.Errorf("%s: not a task: write role/index, as in worker/0", s)
	}
	return TaskID{Role: role, Index: n}, nil
}

// Tasks lists every task that the plan may run, role by role.
func (p *Plan) Tasks() []TaskID {
	return p.tasks(func(r *Role) int { return r.Instances.Max })
}

// Minimum lists the tasks without which the job does not run.
func (p *Plan) Minimum() []TaskID {
	return p.tasks(func(r *Role) int { return r.Instances.Min })
}

func (p *Plan) tasks(count func(*Role) int) []TaskID {
	var out []TaskID
	for i := range p.Roles {
		r := &p.Roles[i]
		for n := range count(r) {
			out = append(out, TaskID{Role: r.Name, Index: n})
		}
	}
	return out
}
