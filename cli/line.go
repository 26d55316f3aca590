package cli

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/muster-project/muster/dialect/launcher"
	"github.com/muster-project/muster/spec"
)

// maxNamed bounds what is read of a file that a launcher's line names.
const maxNamed = 1 << 20

// line is a launcher's line of one role, read.
type line struct {
	role    string
	reading *launcher.Reading
	applied bool
	against []launcher.Conflict
}

// readLines takes over what the lines of launchers say and the author of the
// job did not write: framework, counts, variables, and the command that runs in
// a line's place. It adds to the job's last layer and says so.
func (a *assembly) readLines(stack *spec.Stack) error {
	var lines []*line
	for _, r := range a.resolved.Job.Roles {
		if reading := launcher.Read(r.Command, a.named); reading != nil && a.wants(stack, r.Name, reading, lines) {
			lines = append(lines, &line{role: r.Name, reading: reading})
		}
	}
	if len(lines) == 0 {
		return nil
	}
	for _, l := range lines {
		a.take(stack, l)
	}
	resolved, err := stack.Resolve(a.env.account())
	if err != nil {
		return a.env.specFault(err)
	}
	a.resolved = resolved
	for _, l := range lines {
		a.tellLine(l)
	}
	return nil
}

// wants says whether a line is taken over. A framework that the author names
// holds; plain says that the line is to run as it is.
func (a *assembly) wants(stack *spec.Stack, role string, r *launcher.Reading, others []*line) bool {
	job := a.resolved.Job
	switch {
	case stack.Says("framework"):
		if job.Framework != r.Framework && job.Framework != "plain" && r.Framework != "" {
			a.note(role, r.Launcher, "framework: %s holds, so the line is left as it is", job.Framework)
		}
		return job.Framework == r.Framework
	case r.Framework == "":
		for _, remark := range r.Remarks {
			a.note(role, r.Launcher, "%s", remark)
		}
		return false
	case len(others) > 0 && others[0].reading.Framework != r.Framework:
		a.note(role, r.Launcher, "the line of %s makes this a job of framework %s, so this one is left as it is", others[0].role, others[0].reading.Framework)
		return false
	}
	return true
}

// take adds what a line says to the job.
func (a *assembly) take(stack *spec.Stack, l *line) {
	r, role := l.reading, a.resolved.Job.Roles.Get(l.role)
	prefix := ""
	if stack.Says("roles") {
		prefix = "roles." + l.role + "."
	}
	said := func(key string) bool { return stack.Says(key) || stack.Says("roles."+l.role+"."+key) }
	origin := r.Launcher + "'s line"
	if !stack.Says("framework") {
		stack.SetValue(origin, "framework", r.Framework)
	}
	if r.Command.IsZero() {
		return // left as it is
	}
	l.applied = true
	changes, conflicts := r.Settle(role, said)
	for _, c := range changes {
		stack.SetValue(origin, prefix+c.Key, c.Value)
	}
	l.against = conflicts
	for _, name := range slices.Sorted(maps.Keys(r.Env)) {
		if !said("env." + quotedKey(name)) {
			stack.SetValue(origin, prefix+"env."+quotedKey(name), r.Env[name])
		}
	}
	where := a.written("roles." + l.role + ".command")
	stack.SetValue(where, prefix+"command", r.Command)
}

// tellLine says what became of a line.
func (a *assembly) tellLine(l *line) {
	r := l.reading
	if role := a.resolved.Job.Roles.Get(l.role); role == nil {
		// The only role of a job has another name under another framework.
		l.role = a.resolved.Job.Roles[0].Name
	}
	for _, c := range l.against {
		a.warnings = append(a.warnings, fmt.Sprintf("roles.%s.%s: %s", l.role, c.Key, c.Text))
	}
	if l.applied {
		role := a.resolved.Job.Roles.Get(l.role)
		text := fmt.Sprintf("%s of %s", countText(role.Instances, "task"), plural(max(1, role.Procs), "process"))
		if role.GPUs > 0 {
			text += " with " + plural(role.GPUs, "GPU")
		}
		text += ", framework " + a.resolved.Job.Framework
		if left := r.NotTaken(); left != "" {
			text += "; not taken over: " + left
		}
		a.note(l.role, r.Launcher, "%s", text)
	}
	for _, remark := range r.Remarks {
		a.note(l.role, r.Launcher, "%s", remark)
	}
}

// countText is "2 tasks" or "1..4 tasks".
func countText(c spec.Count, what string) string {
	if c.Elastic() {
		return c.String() + " " + what + "s"
	}
	return plural(max(1, c.Max), what)
}

// note keeps a sentence about a role's line for whoever submits or plans.
func (a *assembly) note(role, launcher, format string, args ...any) {
	text := launcher + ": " + fmt.Sprintf(format, args...)
	if len(a.resolved.Job.Roles) > 1 {
		text = "roles." + role + ": " + text
	}
	a.notes = append(a.notes, text)
}

// tellNotes prints what was noted, one line each.
func (a *assembly) tellNotes(w io.Writer) {
	for _, n := range a.notes {
		fmt.Fprintf(w, "muster: %s\n", n)
	}
}

// named reads a small file that a launcher's line names, from where the line
// would run.
func (a *assembly) named(name string) ([]byte, error) {
	dir := a.dir
	if w := a.resolved.Job.Workdir.Path; w != "" {
		dir = w
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(a.dir, dir)
		}
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, cause(err)
	case !info.Mode().IsRegular() || info.Size() > maxNamed:
		return nil, fmt.Errorf("not a file of at most %d bytes", maxNamed)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, cause(err)
	}
	return data, nil
}
