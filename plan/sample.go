package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Sample is one task's launch under an example roster, shown with a plan.
type Sample struct {
	Task   TaskID
	Launch Launch
}

// Example is a roster as it could come about: every task on a node of its own,
// with ports that are made up. It shows what tasks will see before any runs.
func Example(p *Plan) *Roster {
	var present []Registration
	for i, id := range p.Tasks() {
		host := fmt.Sprintf("node-%d", i+1)
		ports := map[string]int{}
		for n, port := range p.Role(id.Role).Ports {
			ports[port.Name] = port.Number
			if port.Number == 0 {
				ports[port.Name] = 40000 + n
			}
		}
		present = append(present, Registration{Task: id, Incarnation: 1, Node: host, Host: host, Ports: ports})
	}
	return BuildRoster(p, 1, "start", present, nil)
}

// samples shows the first task of each role in full, of further ones what
// differs from it, and how many are not shown.
func (f *formatter) samples(p *Plan, samples []Sample) {
	first := map[string][]seen{}
	shown := map[string]int{}
	for i, s := range samples {
		role := s.Task.Role
		all := whatItSees(&s.Launch)
		if shown[role]++; shown[role] == 1 {
			first[role] = all
			f.list("what "+s.Task.String()+" sees, with hosts and ports made up", lines(all))
		} else {
			f.list("what "+s.Task.String()+" sees instead", different(first[role], all))
		}
		last := i == len(samples)-1 || samples[i+1].Task.Role != role
		if r := p.Role(role); last && r != nil && r.Instances.Max > shown[role] {
			f.line()
			f.line(fmt.Sprintf("%d more of %s: likewise; muster plan -o wide shows each", r.Instances.Max-shown[role], role))
		}
	}
}

// seen is one thing that a task finds: a variable, of all its processes or of
// one, or a file.
type seen struct{ name, line string }

func whatItSees(l *Launch) []seen {
	var out []seen
	add := func(prefix, suffix string, env map[string]string) {
		for _, name := range slices.Sorted(maps.Keys(env)) {
			out = append(out, seen{prefix + name, prefix + name + "=" + quote(env[name]) + suffix})
		}
	}
	add("", "", l.Env)
	add("", "  (unless it is set already)", l.Default)
	add("", expanded, l.Expand)
	for i, env := range l.Procs {
		prefix := ""
		if len(l.Procs) > 1 {
			prefix = fmt.Sprintf("process %d: ", i)
		}
		add(prefix, "", env)
	}
	for _, name := range slices.Sorted(maps.Keys(l.Files)) {
		out = append(out, seen{"file " + name, "file " + name})
	}
	return out
}

func lines(all []seen) []string {
	out := make([]string, len(all))
	for i, s := range all {
		out[i] = s.line
	}
	return out
}

// different lists what a task sees otherwise than the first of its role, and
// what it does not see at all.
func different(first, other []seen) []string {
	before := map[string]string{}
	for _, s := range first {
		before[s.name] = s.line
	}
	var out []string
	for _, s := range other {
		if before[s.name] != s.line {
			out = append(out, s.line)
		}
		delete(before, s.name)
	}
	for _, s := range first {
		if _, missing := before[s.name]; missing {
			out = append(out, strings.TrimPrefix(s.name, "file ")+": not there")
		}
	}
	return out
}
