package launcher

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/muster-project/muster/spec"
)

// Reading is what a launcher's line says. What it does not say is zero.
type Reading struct {
	Launcher  string     // torchrun
	Framework string     // pytorch
	Instances spec.Count // tasks: nodes, machines, hosts
	Procs     int        // processes of each task
	Total     int        // processes of all tasks together
	GPUs      int        // of each task
	Devices   bool       // each process has a GPU of its own
	Restarts  *int
	Env       map[string]spec.EnvValue
	Command   spec.Command // runs in the line's place; zero: the line stays as it is
	Left      []Left       // options not taken over
	Remarks   []string     // what is unsure, and what was left to the launcher

	said   map[string]string // the option that said it, by key of the job file
	perGPU bool              // as many processes as a task has GPUs, where the line says no number
	slots  bool              // Total is the launcher's to start, in slots that are ours
}

// Left is an option that was not taken over.
type Left struct{ Option, Why string }

// say notes which option a key comes from.
func (r *Reading) say(key string, g *given) string {
	r.said[key] = g.String()
	return ""
}

// Change is a value for a key of a role: what the line says and the author of
// the job did not write.
type Change struct {
	Key   string
	Value any
}

// Conflict is a key where author and line disagree.
type Conflict struct {
	Key  string
	Text string
}

// Settle puts the line and the role together. What the author wrote holds;
// written says which keys those are.
func (r *Reading) Settle(role *spec.Role, written func(key string) bool) (changes []Change, conflicts []Conflict) {
	fill := func(key string, differs bool, have, say any) {
		switch {
		case !written(key):
			changes = append(changes, Change{key, say})
		case differs:
			conflicts = append(conflicts, Conflict{key, fmt.Sprintf("%v holds; the line says %s", have, cmp.Or(r.said[key], fmt.Sprint(say)))})
		}
	}
	instances := role.Instances
	if r.Instances != (spec.Count{}) {
		fill("instances", instances != r.Instances, instances, r.Instances)
		if !written("instances") {
			instances = r.Instances
		}
	}
	tasks := max(1, instances.Max)
	procs := r.Procs
	if procs == 0 && r.Total > 0 {
		procs = (r.Total + tasks - 1) / tasks
		r.said["procs"] = cmp.Or(r.said["procs"], r.said["total"])
	}
	if procs == 0 && r.perGPU {
		procs = role.GPUs
	}
	if r.slots && r.Procs == 0 && written("procs") {
		procs = role.Procs // framework/mpi compares the ranks of all roles with their slots
	}
	if procs > 0 {
		fill("procs", role.Procs != procs, role.Procs, procs)
		if written("procs") {
			procs = role.Procs
		}
	}
	if r.Total > 0 && procs > 0 && !slices.ContainsFunc(conflicts, func(c Conflict) bool { return c.Key == "procs" || c.Key == "instances" }) {
		if text := r.uneven(tasks, procs); text != "" {
			conflicts = append(conflicts, Conflict{"procs", text})
		}
	}
	gpus := r.GPUs
	if r.Devices && gpus == 0 {
		gpus = procs
	}
	if gpus > 0 {
		fill("gpus", role.GPUs != gpus, role.GPUs, gpus)
	}
	if r.Restarts != nil && !written("on_failure") {
		differs := role.Restarts != nil && *role.Restarts != *r.Restarts
		if *r.Restarts > 0 || differs {
			have := 0
			if role.Restarts != nil {
				have = *role.Restarts
			}
			fill("restarts", differs, have, *r.Restarts)
		}
	}
	return changes, conflicts
}

// uneven tells where tasks of one size do not make the number that the line asks for.
func (r *Reading) uneven(tasks, procs int) string {
	have := tasks * procs
	switch {
	case have == r.Total, r.slots: // framework/mpi looks at slots
		return ""
	}
	return fmt.Sprintf("%d tasks of %d make %d processes; %s asks for %d", tasks, procs, have, r.said["total"], r.Total)
}

// NotTaken lists the options that were left out, those with one reason together.
func (r *Reading) NotTaken() string {
	var whys []string
	options := map[string][]string{}
	for _, l := range r.Left {
		if !slices.Contains(whys, l.Why) {
			whys = append(whys, l.Why)
		}
		if !slices.Contains(options[l.Why], l.Option) {
			options[l.Why] = append(options[l.Why], l.Option)
		}
	}
	parts := make([]string, len(whys))
	for i, why := range whys {
		parts[i] = strings.Join(options[why], ", ") + " (" + why + ")"
	}
	return strings.Join(parts, "; ")
}
