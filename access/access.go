package access

import (
	"fmt"
	"io/fs"
	"slices"

	"github.com/muster-project/muster/spec"
)

// Person is who asks. No name is nobody in particular: only lists that name
// everybody let such a one in.
type Person struct {
	Name   string
	Groups []string
}

// Right is what somebody wants to do.
type Right int

// The rights.
const (
	View Right = iota
	Modify
)

func (r Right) String() string {
	if r == Modify {
		return "act on"
	}
	return "see"
}

// Rule is what one job says, and what holds around it.
type Rule struct {
	Owner string
	// Admins may do everything: those of the machine or the cluster, and of the
	// job's queue.
	Admins spec.People
	ACLs   spec.ACLs
}

// May says whether somebody has a right.
func (r Rule) May(p Person, right Right) bool {
	return p.Name != "" && p.Name == r.Owner || In(p, r.people(right))
}

// Grouped says that the groups of a person matter for a right.
func (r Rule) Grouped(right Right) bool { return len(r.people(right).Groups) > 0 }

// people are all but the owner who have a right.
func (r Rule) people(right Right) spec.People {
	out := r.Admins.And(r.ACLs.Modify)
	if right == View {
		out = out.And(r.ACLs.View)
	}
	return out
}

// Viewers are all but the owner who may see the job.
func (r Rule) Viewers() spec.People { return r.people(View) }

// Modifiers are all but the owner who may act on it.
func (r Rule) Modifiers() spec.People { return r.people(Modify) }

// In says whether a list names somebody.
func In(p Person, list spec.People) bool {
	return list.All || p.Name != "" && slices.Contains(list.Users, p.Name) ||
		slices.ContainsFunc(p.Groups, func(g string) bool { return slices.Contains(list.Groups, g) })
}

// Denied says that somebody has not the right that they need. It is
// fs.ErrPermission.
type Denied struct {
	Job, Owner string
	Person     string
	Right      Right
}

func (d *Denied) Error() string {
	return fmt.Sprintf("%s: %s may not %s it: it is %s's job", d.Job, d.who(), d.Right, d.Owner)
}

func (d *Denied) who() string {
	if d.Person == "" {
		return "who does not say who they are"
	}
	return d.Person
}

// Hint says what to do about it.
func (d *Denied) Hint() string {
	list := "acls.view"
	if d.Right == Modify {
		list = "acls.modify"
	}
	return fmt.Sprintf("%s names who else may, by %s in the job file", d.Owner, list)
}

// Is lets errors.Is know it as a matter of rights.
func (*Denied) Is(target error) bool { return target == fs.ErrPermission }
