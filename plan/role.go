package plan

import (
	"cmp"
	"maps"
	"slices"

	"github.com/muster-project/muster/spec"
)

// fillRoles moves the job's roles into the plan.
func fillRoles(d *Draft, job *spec.Job) {
	p := d.Plan
	normal := *job
	normal.Roles = slices.Clone(job.Roles) // Normalize fills them
	spec.Normalize(&normal)
	p.Env = normal.Env
	for i := range normal.Roles {
		named := &normal.Roles[i]
		d.Written[named.Name] = written(&named.Role)
		p.Roles = append(p.Roles, fillRole(named.Name, &named.Role))
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
		Progress:     r.Progress,
	}
	if r.Restarts != nil {
		out.Restarts = *r.Restarts
	}
	for _, port := range slices.Sorted(maps.Keys(r.Ports)) {
		out.Ports = append(out.Ports, Port{Name: port, Number: r.Ports[port]})
	}
	if own := spec.DefaultCommand(name); !own.IsZero() {
		if r.Command.IsZero() {
			out.Command = own
		}
		if len(out.Ports) == 0 {
			out.Ports = []Port{{Name: "main"}}
		}
	}
	for _, a := range r.After {
		a.Is = cmp.Or(a.Is, spec.Started)
		out.After = append(out.After, a)
	}
	return out
}

// checkDevices refuses processes that would share a GPU without having asked
// for it. spec says so too, but a framework may have counted processes since.
func checkDevices(d *Draft) {
	for _, r := range d.Plan.Roles {
		if g := r.Resources.GPUs; g > 0 && r.Procs > g {
			d.refuse("roles."+r.Name+".procs", "write as many GPUs as processes, or gpus: 0 and choose devices in the program",
				"%d processes for %d GPUs of a task: two would share a device without having asked for it", r.Procs, g)
		}
	}
}
