package plan

import (
	"cmp"
	"maps"
	"slices"

	"github.com/muster-project/muster/spec"
)

// fillRoles moves the job's roles into the plan. What a role leaves open it
// takes from the top level of the job file, and then from the defaults.
func fillRoles(d *Draft, job *spec.Job) {
	p := d.Plan
	roles := job.Roles
	top := job.Role
	if top.Restarts == nil {
		top.Restarts = job.Restarts
	}
	p.Env = top.Env
	if len(roles) == 0 {
		only := top
		only.Env = nil
		roles = spec.Roles{{Name: defaultRole, Role: only}}
	}
	for _, named := range roles {
		r := named.Role
		inherit(&r, &top)
		d.Written[named.Name] = written(&r)
		p.Roles = append(p.Roles, fillRole(named.Name, &r))
	}
	// Rank 0 belongs to the chief wherever the file names it.
	slices.SortStableFunc(p.Roles, func(a, b Role) int {
		return cmp.Compare(lead(a.Name), lead(b.Name))
	})
}

func lead(role string) int {
	if IsChief(role) {
		return 0
	}
	return 1
}

// inherit fills a role's open fields from the top level. How many tasks there
// are, in which order they start and which of them ends the job is each role's
// own affair.
func inherit(r, top *spec.Role) {
	r.Procs = cmp.Or(r.Procs, top.Procs)
	r.CPUs = cmp.Or(r.CPUs, top.CPUs)
	r.Memory = cmp.Or(r.Memory, top.Memory)
	r.GPUs = cmp.Or(r.GPUs, top.GPUs)
	r.Image = cmp.Or(r.Image, top.Image)
	r.OnFailure = cmp.Or(r.OnFailure, top.OnFailure)
	r.MaxFailures = cmp.Or(r.MaxFailures, top.MaxFailures)
	r.Restarts = cmp.Or(r.Restarts, top.Restarts)
	r.RestartScope = cmp.Or(r.RestartScope, top.RestartScope)
	r.OnPreempt = cmp.Or(r.OnPreempt, top.OnPreempt)
	r.StopGrace = cmp.Or(r.StopGrace, top.StopGrace)
	if r.Command.IsZero() {
		r.Command = top.Command
	}
}

// written names the keys of a role that its author filled.
func written(r *spec.Role) map[string]bool {
	return map[string]bool{
		"instances":     r.Instances != spec.Count{},
		"procs":         r.Procs != 0,
		"cpus":          r.CPUs != 0,
		"memory":        r.Memory != 0,
		"gpus":          r.GPUs != 0,
		"ports":         len(r.Ports) > 0,
		"wait":          r.Wait != nil,
		"ends_job":      r.EndsJob != nil,
		"on_failure":    r.OnFailure != "",
		"max_failures":  r.MaxFailures != spec.Failures{},
		"restarts":      r.Restarts != nil,
		"restart_scope": r.RestartScope != "",
		"after":         len(r.After) > 0,
		"stop_grace":    r.StopGrace != 0,
		"linger":        r.Linger != nil,
	}
}

func fillRole(name string, r *spec.Role) Role {
	out := Role{
		Name:         name,
		Instances:    cmp.Or(r.Instances, spec.Count{Min: 1, Max: 1}),
		Procs:        cmp.Or(r.Procs, 1),
		Resources:    Resources{CPUs: cmp.Or(r.CPUs, 1), Memory: int64(r.Memory), GPUs: r.GPUs},
		Command:      r.Command,
		Env:          r.Env,
		Image:        r.Image,
		Wait:         r.Wait != nil && *r.Wait,
		EndsJob:      r.EndsJob != nil && *r.EndsJob,
		OnFailure:    r.OnFailure,
		MaxFailures:  r.MaxFailures,
		RestartScope: r.RestartScope,
		OnPreempt:    r.OnPreempt,
		StopGrace:    cmp.Or(r.StopGrace, defaultGrace),
		Linger:       r.Linger,
	}
	if r.Restarts != nil {
		out.Restarts = *r.Restarts
	}
	for _, port := range slices.Sorted(maps.Keys(r.Ports)) {
		out.Ports = append(out.Ports, Port{Name: port, Number: r.Ports[port]})
	}
	for _, a := range r.After {
		a.Is = cmp.Or(a.Is, spec.Started)
		out.After = append(out.After, a)
	}
	return out
}

// checkRoles refuses what no backend could run.
func checkRoles(d *Draft) {
	seen := map[string]bool{}
	for _, r := range d.Plan.Roles {
		path := "roles." + r.Name
		if seen[r.Name] {
			d.refuse(path, "", "written twice")
		}
		seen[r.Name] = true
		if r.Command.IsZero() {
			d.refuse(path+".command", "write one here, or one for all roles at the top level", "nothing to run")
		}
		if r.Instances.Min < 1 || r.Instances.Max < r.Instances.Min {
			d.refuse(path+".instances", "write a number from 1 on, or a range as in 3..4", "%d..%d is no number of tasks", r.Instances.Min, r.Instances.Max)
		}
		if r.Procs < 1 {
			d.refuse(path+".procs", "", "%d is no number of processes", r.Procs)
		}
		if g := r.Resources.GPUs; g > 0 && r.Procs > g {
			d.refuse(path+".procs", "write as many GPUs as processes, or gpus: 0 and choose devices in the program",
				"%d processes for %d GPUs of a task: two would share a device without having asked for it", r.Procs, g)
		}
		numbers := map[int]string{}
		for _, port := range r.Ports {
			if other, taken := numbers[port.Number]; taken && port.Number != 0 {
				d.refuse(path+".ports."+port.Name, "", "%d is the port %q already", port.Number, other)
			}
			numbers[port.Number] = port.Name
		}
	}
}
