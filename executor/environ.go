package executor

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/muster-project/muster/plan"
)

// environ is the complete environment of the i-th process of a task, sorted.
// Later ones win: the framework's defaults, the submitter's environment, the
// launch (job, role, framework), the process's own variables, values expanded on
// this node, and last what only the executor knows.
func (e *executor) environ(dir, work string, l plan.Launch, i int) []string {
	fill := e.filler(dir, work)
	env := map[string]string{}
	for name, value := range l.Default {
		// What nobody knows here, such as an interface, is better not said.
		if v := fill(value); v != "" || value == "" {
			env[name] = v
		}
	}
	for name, value := range e.Environ {
		// Variables of a muster job that this one was submitted from are not ours.
		if !strings.HasPrefix(name, "MUSTER_") || name == "MUSTER_HOME" {
			env[name] = value
		}
	}
	layer := func(m map[string]string) {
		for name, value := range m {
			env[name] = fill(value)
		}
	}
	layer(l.Env)
	if i < len(l.Procs) {
		layer(l.Procs[i])
	}
	own := e.own(dir, work, l)
	known := maps.Clone(env)
	maps.Copy(known, own)
	text := map[string]string{}
	for name, value := range l.Expand {
		text[name] = fill(value)
	}
	maps.Copy(env, expand(text, known, e.opt.Environ))
	maps.Copy(env, own)
	for _, name := range visible {
		if _, ok := variable(e.opt.Environ, name); !ok && e.AsFound {
			delete(env, name)
		}
	}
	e.python(env, dir)
	addModule(env, dir)

	out := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		out = append(out, name+"="+env[name])
	}
	return out
}

// own are the variables that only the executor knows.
func (e *executor) own(dir, work string, l plan.Launch) map[string]string {
	own := map[string]string{
		"MUSTER_DIR":           dir,
		"MUSTER_DEADLINE_FILE": filepath.Join(dir, deadlineFile),
		"MUSTER_REPORT_FILE":   filepath.Join(dir, reportFile),
		"MUSTER_READY_FILE":    filepath.Join(dir, readyFile),
		"PWD":                  work,
	}
	for _, name := range visible {
		// Set although nothing was granted: an unset variable shows all devices.
		own[name] = strings.Join(e.Devices, ",")
		if e.AsFound {
			own[name], _ = variable(e.opt.Environ, name)
		}
	}
	if e.Checkpoint != "" {
		own["MUSTER_CHECKPOINT_DIR"] = e.Checkpoint
	}
	if _, ok := l.Files[rosterFile]; ok {
		own["MUSTER_ROSTER"] = filepath.Join(dir, rosterFile)
	}
	return own
}

// visible are the variables that say which devices a program may see.
var visible = []string{"CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"}

// variable finds one in an environment as os.Environ gives it.
func variable(environ []string, name string) (string, bool) {
	for _, e := range environ {
		if value, ok := strings.CutPrefix(e, name+"="); ok {
			return value, true
		}
	}
	return "", false
}

// filler replaces the names that only the executor knows.
func (e *executor) filler(dir, work string) func(string) string {
	names := strings.NewReplacer("${muster.dir}", dir, "${muster.work}", work, "${muster.devices}", strings.Join(e.Devices, ","),
		"${muster.agent}", agentWords(e.opt.Agent), "${muster.secret}", e.secret.of(dir))
	return func(text string) string {
		text = names.Replace(text)
		const iface = "${muster.iface}"
		if strings.Contains(text, iface) { // asked for by few, and may take a look-up
			text = strings.ReplaceAll(text, iface, e.iface())
		}
		return text
	}
}
