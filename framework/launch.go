package framework

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

// Common computes what every task sees whatever its framework: its argv, the
// author's environment, the MUSTER_ variables and, per process, its rank.
// Frameworks add theirs with Set and SetProc, and a roster file with AddRoster.
func Common(p *plan.Plan, r *plan.Roster, id plan.TaskID) (plan.Launch, *plan.Member, error) {
	role, m := p.Role(id.Role), r.Member(id)
	if role == nil || m == nil {
		return plan.Launch{}, nil, fmt.Errorf("%s: not in the roster of epoch %d", id, r.Epoch)
	}
	l := plan.Launch{Argv: Argv(role.Command), Env: map[string]string{}, Expand: map[string]string{}, Files: map[string][]byte{}}
	author(&l, p.Env)
	author(&l, role.Env)

	reason := ""
	if m.Incarnation > 1 {
		reason = r.Reason
	}
	Set(&l, "MUSTER_JOB", p.ID)
	Set(&l, "MUSTER_TASK", id.String())
	Set(&l, "MUSTER_ROLE", id.Role)
	Set(&l, "MUSTER_INDEX", strconv.Itoa(id.Index))
	Set(&l, "MUSTER_TASKS", strconv.Itoa(r.Tasks(p)[id.Role]))
	Set(&l, "MUSTER_PROCS", strconv.Itoa(m.Procs))
	Set(&l, "MUSTER_WORLD_SIZE", strconv.Itoa(r.WorldOf(p, id.Role)))
	Set(&l, "MUSTER_EPOCH", strconv.Itoa(r.Epoch))
	Set(&l, "MUSTER_RESTART_REASON", reason)
	first := true
	for _, port := range role.Ports {
		number, ok := m.Ports[port.Name]
		if !ok {
			return plan.Launch{}, nil, fmt.Errorf("%s: port %q: missing in the roster of epoch %d", id, port.Name, r.Epoch)
		}
		if first && !port.Store {
			Set(&l, "MUSTER_PORT", strconv.Itoa(number))
			first = false
		}
		Set(&l, PortVariable(port.Name), strconv.Itoa(number))
	}
	web(&l, role, m)
	for i := range m.Procs {
		SetProc(&l, i, "MUSTER_PROC", strconv.Itoa(i))
		if m.Rank >= 0 {
			SetProc(&l, i, "MUSTER_RANK", strconv.Itoa(m.Rank+i))
			SetProc(&l, i, "MUSTER_LOCAL_RANK", strconv.Itoa(m.LocalRank+i))
		}
	}
	return l, m, nil
}

// Argv is the command as the kernel takes it.
func Argv(c spec.Command) []string {
	if len(c.Argv) > 0 {
		return c.Argv
	}
	return []string{"bash", "-c", c.Shell}
}

// author adds what the job file says; later layers replace earlier ones.
func author(l *plan.Launch, env map[string]spec.EnvValue) {
	for name, v := range env {
		delete(l.Env, name)
		delete(l.Expand, name)
		if v.Expand {
			l.Expand[name] = v.Value
		} else {
			l.Env[name] = v.Value
		}
	}
}

// Set gives every process of a task a variable, over whatever the author wrote.
func Set(l *plan.Launch, name, value string) {
	delete(l.Expand, name)
	l.Env[name] = value
}

// SetProc gives the i-th process of a task a variable of its own.
func SetProc(l *plan.Launch, i int, name, value string) {
	for len(l.Procs) <= i {
		l.Procs = append(l.Procs, map[string]string{})
	}
	delete(l.Expand, name)
	delete(l.Env, name)
	l.Procs[i][name] = value
}

// SetDefault gives every process of a task a variable that neither the author
// nor the submitter's environment sets.
func SetDefault(l *plan.Launch, name, value string) {
	if l.Default == nil {
		l.Default = map[string]string{}
	}
	l.Default[name] = value
}

// PortVariable is the variable that holds a port: letters, digits and
// underscores only, since no shell reads others.
func PortVariable(port string) string {
	return "MUSTER_PORT_" + strings.Map(func(c rune) rune {
		switch {
		case c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
			return c
		case c >= 'a' && c <= 'z':
			return c - 'a' + 'A'
		}
		return '_'
	}, port)
}
