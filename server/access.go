package server

import (
	"os/user"
	"strconv"
	"strings"

	"github.com/muster-project/muster/access"
	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/session"
)

// may says whether somebody has a right to a job: its owner, root, the user of
// this server, and whom the job's lists name.
func (s *Server) may(j *job, p Person, right access.Right) bool {
	return j.owned(p) || p.UID == s.self.UID ||
		access.Rule{ACLs: j.plan.ACLs}.May(access.Person{Name: p.Name, Groups: p.groups()}, right)
}

// denied is what somebody is told who has not the right: whose the job is, which
// is no secret, and nothing else.
func denied(j *job, p Person, right access.Right) error {
	return &access.Denied{Job: j.id, Owner: j.owner.Name, Person: p.Name, Right: right}
}

// groups are the names of those that the kernel says somebody is in; a number
// where nobody has given it a name.
func (p Person) groups() []string {
	var out []string
	for _, id := range append([]uint32{uint32(p.GID)}, p.Groups...) {
		name := strconv.FormatUint(uint64(id), 10)
		if g, err := user.LookupGroupId(name); err == nil {
			name = g.Name
		}
		out = append(out, name)
	}
	return out
}

// keyless takes out of a view what only the owner may have: the part of a task's
// address behind the question mark is the key of what answers there.
func keyless(v session.View) session.View {
	tasks := make([]session.TaskView, len(v.Tasks))
	copy(tasks, v.Tasks)
	for i := range tasks {
		published := make(map[string]string, len(tasks[i].Published))
		for key, value := range tasks[i].Published {
			published[key] = withoutKey(value)
		}
		if len(published) > 0 {
			tasks[i].Published = published
		}
	}
	v.Tasks = tasks
	return v
}

// keylessEvent is the same for a line of the journal.
func keylessEvent(e event.Event) event.Event {
	if p, ok := e.Body.(*event.TaskPublished); ok {
		own := *p
		own.Value = withoutKey(p.Value)
		e.Body = &own
	}
	return e
}

func withoutKey(value string) string {
	if strings.HasPrefix(value, "http://") || strings.HasPrefix(value, "https://") {
		value, _, _ = strings.Cut(value, "?")
	}
	return value
}
