package spec

import (
	"reflect"
	"slices"
	"strings"
)

// merger lays the layers of one stack over each other.
type merger struct {
	stack    *Stack
	user     string
	problems Problems
}

var jobType = reflect.TypeFor[Job]()

func (m *merger) merged() *node {
	base, _ := parse("", []byte(builtIn))
	base = base.moved(place{file: "built in"})
	// The queue has defaults of its own, so it must be known before them.
	queue := m.over(base, "").get("queue")
	name := ""
	if queue != nil {
		name = queue.text
	}
	return m.over(base, name)
}

// over lays defaults, job file and flags over base. The problems are those of
// the last call.
func (m *merger) over(base *node, queue string) *node {
	m.problems = nil
	s := m.stack
	for _, d := range []*node{
		s.site.get("defaults"),
		s.site.get("queues").get(queue).get("defaults"),
		s.site.get("users").get(m.user).get("defaults"),
		s.user.get("defaults"),
	} {
		if d != nil && d.kind == mapping {
			base = merge(base, d, jobType)
		}
	}
	base = m.named(base)
	if s.job != nil {
		m.checkForms(s.job)
		base = merge(base, s.job, jobType)
	}
	for _, f := range s.flags {
		base = m.flag(base, f)
	}
	return base
}

// named applies the defaults for roles of a name: to the roles that the job
// has, or to its only one. A default alone never makes a role.
func (m *merger) named(base *node) *node {
	defaults := base.get("roles")
	if defaults == nil {
		return base
	}
	base = base.without("roles")
	written := m.roleNames()
	if len(written) == 0 {
		framework := base.get("framework")
		if f := m.stack.job.get("framework"); f != nil {
			framework = f
		}
		for _, f := range m.stack.flags {
			if f.keys[0] == "framework" {
				framework = f.value
			}
		}
		if d := defaults.get(RoleName(framework.text)); d != nil && d.kind == mapping {
			base = merge(base, d, jobType)
		}
		return base
	}
	kept := &node{kind: mapping, at: defaults.at}
	for _, name := range written { // in the job's order
		if e := defaults.entry(name); e != nil {
			kept = kept.with(name, e.at, e.value)
		} else {
			kept = kept.with(name, defaults.at, &node{kind: mapping, at: defaults.at})
		}
	}
	return base.with("roles", defaults.at, kept)
}

// roleNames lists the roles that the job file, or without one there the flags, name.
func (m *merger) roleNames() []string {
	var out []string
	if roles := m.stack.job.get("roles"); roles != nil {
		for _, e := range roles.entries {
			out = append(out, e.key)
		}
		return out
	}
	for _, f := range m.stack.flags {
		if f.keys[0] != "roles" {
			continue
		}
		if len(f.keys) > 1 && !slices.Contains(out, f.keys[1]) {
			out = append(out, f.keys[1])
		}
		for _, e := range f.value.entries {
			if len(f.keys) == 1 && !slices.Contains(out, e.key) {
				out = append(out, e.key)
			}
		}
	}
	return out
}

// checkForms refuses a file that has roles and at the same time says how many
// tasks the one role would have.
func (m *merger) checkForms(job *node) {
	roles := job.entry("roles")
	if roles == nil || len(roles.value.entries) == 0 {
		return
	}
	for _, key := range ownKeys {
		if e := job.entry(key); e != nil {
			m.problems = append(m.problems, e.at.problem(key,
				"belongs to a job with one role, but there are roles in "+roles.at.String(),
				"move it into a role, as in roles."+roles.value.entries[0].key+"."+key))
		}
	}
}

// flag applies one flag. A flag for what roles hold means every role, since it
// is stronger than what a role's own lines say; what belongs to one role means
// the only one.
func (m *merger) flag(base *node, f flagValue) *node {
	roles := base.get("roles")
	if f.keys[0] == "roles" {
		return m.roleFlag(base, f)
	}
	_, ofRole := fieldsOf(reflect.TypeFor[Role]()).get(f.keys[0])
	if roles == nil || len(roles.entries) == 0 || !ofRole {
		return m.put(base, f.keys, f)
	}
	names := make([]string, len(roles.entries))
	own := 0
	for i, e := range roles.entries {
		names[i] = e.key
		if e.value.get("command") != nil {
			own++
		}
	}
	if len(names) > 1 && slices.Contains(ownKeys, f.keys[0]) {
		m.problems = append(m.problems, Problem{File: f.name, Text: f.keys[0] + " of which role? the job has " + strings.Join(names, ", "),
			Hint: "write --set roles." + names[0] + "." + strings.Join(f.keys, ".") + "=" + flow(f.value)})
		return base
	}
	if len(names) > 1 && f.keys[0] == "command" {
		if own == len(names) {
			m.problems = append(m.problems, Problem{File: f.name, Text: "every role has a command of its own: " + strings.Join(names, ", "),
				Hint: "write --set roles." + names[0] + ".command=…"})
			return base
		}
		return m.put(base, f.keys, f)
	}
	for _, name := range names {
		if len(names) > 1 && ofTheWork(name, f.keys[0]) {
			continue
		}
		base = m.put(base, append([]string{"roles", name}, f.keys...), f)
	}
	return base
}

// roleFlag applies a flag for one role. In the short form, the one role has a
// name too.
func (m *merger) roleFlag(base *node, f flagValue) *node {
	file := m.stack.job
	if file.get("roles") == nil || len(f.keys) == 1 {
		for _, key := range ownKeys {
			if e := file.entry(key); e != nil && file.get("roles") == nil {
				only := RoleName(base.get("framework").text)
				if len(f.keys) > 2 && f.keys[1] == only {
					return m.put(base, f.keys[2:], f)
				}
				m.problems = append(m.problems, Problem{File: f.name, Text: "the job has no roles: " + key + " in " + e.at.String() + " is that of its only one",
					Hint: "leave out roles." + f.keys[min(1, len(f.keys)-1)]})
				return base
			}
		}
		return m.put(base, f.keys, f)
	}
	names := m.roleNames()
	if !slices.Contains(names, f.keys[1]) {
		m.problems = append(m.problems, Problem{File: f.name, Text: "unknown role " + quote(f.keys[1]) + didYouMean(f.keys[1], names), Hint: "the job has " + strings.Join(names, ", ")})
		return base
	}
	return m.put(base, f.keys, f)
}

func (m *merger) put(base *node, keys []string, f flagValue) *node {
	out, complaint := put(base, jobType, keys, f.value)
	if complaint != "" {
		m.problems = append(m.problems, Problem{File: f.name, Text: complaint})
		return base
	}
	return out
}

// pushDown gives every role what the top level says and it does not. The
// places stay those of the top level. Doing so before values are read keeps
// gpus: 0 in a role apart from a role that says nothing.
func pushDown(root *node) *node {
	roles := root.get("roles")
	if roles == nil || len(roles.entries) == 0 {
		return root
	}
	out := &node{kind: mapping, at: roles.at}
	for _, e := range roles.entries {
		role := e.value
		if role.kind == null {
			role = &node{kind: mapping, at: e.at}
		}
		for _, f := range fieldsOf(reflect.TypeFor[Role]()) {
			top := root.entry(f.name)
			if top != nil && role.kind == mapping && role.get(f.name) == nil && inherits(e.key, f.name) {
				role = role.with(f.name, top.at, top.value)
			}
		}
		out = out.with(e.key, e.at, role)
	}
	at := root.entry("roles").at
	for _, f := range fieldsOf(reflect.TypeFor[Role]()) {
		if inherited(f.name) {
			root = root.without(f.name)
		}
	}
	return root.with("roles", at, out)
}

// inherited says that a role takes a key from the top level. Its environment
// stays there: it lies under the role's own, key by key.
func inherited(key string) bool { return key != "env" && !slices.Contains(ownKeys, key) }
