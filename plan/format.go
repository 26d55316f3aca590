package plan

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/muster-project/muster/spec"
)

// Format prints what will run, for people. Samples of a role stand together;
// there may be none.
func Format(w io.Writer, p *Plan, samples []Sample) error {
	f := &formatter{tabs: tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	f.head(p)
	f.roles(p)
	f.policies(p)
	f.environment(p)
	f.samples(p, samples)
	f.list("warnings", p.Warnings)
	if f.err != nil {
		return f.err
	}
	return f.tabs.Flush()
}

const expanded = "  (expanded on the node)"

// formatter remembers the first error, so that printing reads as printing.
type formatter struct {
	tabs *tabwriter.Writer
	err  error
}

func (f *formatter) line(cells ...string) {
	if f.err == nil {
		text := strings.TrimRight(strings.Join(cells, "\t"), "\t ")
		_, f.err = fmt.Fprintln(f.tabs, text)
	}
}

// section begins a part; an empty line also lets columns start anew.
func (f *formatter) section(title string) {
	f.line()
	f.line(title)
}

func (f *formatter) list(title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	f.section(title)
	for _, l := range lines {
		f.line("  " + l)
	}
}

func (f *formatter) head(p *Plan) {
	pair := func(key, value string) {
		if value != "" {
			f.line(key, value)
		}
	}
	on := p.Backend
	if p.Site != "" {
		on += ":" + p.Site
	}
	pair("job", p.Name)
	pair("id", p.ID)
	pair("framework", p.Framework)
	pair("on", on)
	pair("queue", p.Queue)
	if p.Priority != 0 {
		pair("priority", strconv.Itoa(p.Priority))
	}
	if !p.ACLs.View.IsZero() {
		pair("may see", p.ACLs.View.String())
	}
	if !p.ACLs.Modify.IsZero() {
		pair("may act", p.ACLs.Modify.String())
	}
	where := p.Work.Source
	if where != "" && p.Work.InPlace {
		where += " (in place)"
	} else if where != "" {
		where += " (each task gets a copy)"
	}
	pair("workdir", where)
	for _, file := range p.Work.Files {
		what := file.Source + " as " + file.Name
		if file.Unpack {
			what += " (unpacked)"
		}
		pair("file", what)
	}
	for _, t := range []struct {
		key string
		d   spec.Duration
	}{{"queue timeout", p.Timeout.Queue}, {"start timeout", p.Timeout.Start}, {"run timeout", p.Timeout.Run}, {"lease", p.Timing.Lease}} {
		if t.d > 0 {
			pair(t.key, fmt.Sprint(t.d))
		}
	}
}

func (f *formatter) roles(p *Plan) {
	f.section("roles, in rank order")
	f.line("  role", "tasks", "procs", "cpus", "memory", "gpus", "ports", "command")
	for _, r := range p.Roles {
		f.line("  "+r.Name, fmt.Sprint(r.Instances), strconv.Itoa(r.Procs), fmt.Sprintf("%g", r.Resources.CPUs),
			memory(r.Resources.Memory), strconv.Itoa(r.Resources.GPUs), ports(r.Ports), command(r.Command))
	}
}

func (f *formatter) policies(p *Plan) {
	f.section("policies")
	f.line("  role", "ranks", "wait", "ends job", "on failure", "restarts", "starts", "stop grace", "linger")
	for _, r := range p.Roles {
		failure, restarts, linger := string(r.OnFailure), "0", "-"
		switch {
		case r.MaxFailures.Percent > 0:
			failure += fmt.Sprintf(" %d%%", r.MaxFailures.Percent)
		case r.MaxFailures.Count > 0:
			failure += fmt.Sprintf(" %d", r.MaxFailures.Count)
		}
		if r.Restarts > 0 {
			restarts = fmt.Sprintf("%d (%s)", r.Restarts, r.RestartScope)
		}
		if r.Linger != nil {
			linger = fmt.Sprintf("%v then %s", r.Linger.For, r.Linger.Then)
		}
		f.line("  "+r.Name, yes(r.Counted), yes(r.Wait), yes(r.EndsJob), failure, restarts, starts(r), fmt.Sprint(r.StopGrace), linger)
	}
}

func (f *formatter) environment(p *Plan) {
	var lines []string
	add := func(where string, env map[string]spec.EnvValue) {
		for _, name := range slices.Sorted(maps.Keys(env)) {
			v := env[name]
			note := ""
			if v.Expand {
				note = expanded
			}
			lines = append(lines, where+name+"="+quote(v.Value)+note)
		}
	}
	add("", p.Env)
	for _, r := range p.Roles {
		add(r.Name+": ", r.Env)
	}
	f.list("environment, as written", lines)
}

func memory(bytes int64) string {
	if bytes == 0 {
		return "no limit"
	}
	return printBytes(float64(bytes))
}

func ports(list []Port) string {
	var out []string
	for _, p := range list {
		s := p.Name
		if p.Number != 0 {
			s += "=" + strconv.Itoa(p.Number)
		}
		out = append(out, s)
	}
	if out == nil {
		return "-"
	}
	return strings.Join(out, ",")
}

func starts(r Role) string {
	if len(r.After) == 0 {
		return "at once"
	}
	var out []string
	for _, a := range r.After {
		out = append(out, a.Role+" "+string(a.Is))
	}
	return "after " + strings.Join(out, ", ")
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func command(c spec.Command) string {
	if c.Shell != "" {
		return quote(c.Shell)
	}
	out := make([]string, len(c.Argv))
	for i, a := range c.Argv {
		out[i] = quote(a)
		if a == "" || strings.ContainsAny(a, " '\"$&|;<>*?") && out[i] == a {
			out[i] = strconv.Quote(a)
		}
	}
	return strings.Join(out, " ")
}

// quote leaves readable text alone and escapes what would break a table.
func quote(s string) string {
	if strings.ContainsFunc(s, func(c rune) bool { return !strconv.IsPrint(c) }) {
		return strconv.Quote(s)
	}
	return s
}
