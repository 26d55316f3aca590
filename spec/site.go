package spec

// Site is what an administrator's file holds: defaults and limits for every
// job, and more of both for single users and queues.
type Site struct {
	Defaults Job              `yaml:"defaults" doc:"a partial job that every job starts from"`
	Limits   Limits           `yaml:"limits" doc:"what one job may ask for at most"`
	Users    map[string]Share `yaml:"users" doc:"defaults and limits of one user; they stand in place of the general ones"`
	Queues   map[string]Share `yaml:"queues" doc:"defaults and limits of one queue; both these limits and the user's hold"`
}

// Personal is what a user's own settings file holds.
type Personal struct {
	Defaults Job    `yaml:"defaults" doc:"a partial job that the user's jobs start from"`
	Limits   Limits `yaml:"limits" doc:"what the user allows herself; the site's limits hold as well"`
}

// Share is what one user or one queue gets.
type Share struct {
	Defaults Job    `yaml:"defaults" doc:"a partial job"`
	Limits   Limits `yaml:"limits" doc:"what one job may ask for at most"`
}

// Limits is what one job may ask for, all its tasks together. Nil is no limit.
type Limits struct {
	Instances *int      `yaml:"instances" json:"instances,omitempty" doc:"tasks"`
	CPUs      *float64  `yaml:"cpus" json:"cpus,omitempty" doc:"processors"`
	Memory    *Size     `yaml:"memory" json:"memory,omitempty" doc:"memory"`
	GPUs      *int      `yaml:"gpus" json:"gpus,omitempty" doc:"GPUs"`
	Run       *Duration `yaml:"run" json:"run,omitempty" doc:"longest timeout.run; a job without one gets this"`
	Queues    []string  `yaml:"queues" json:"queues,omitempty" doc:"queues that may be used"`
	Priority  *int      `yaml:"priority" json:"priority,omitempty" doc:"highest priority"`
}

// ownKeys say how many tasks a role has and what it means for the others. They
// belong to one role alone: no default for every role makes sense.
var ownKeys = []string{"instances", "ports", "wait", "ends_job", "after", "linger"}

// checkDefaults refuses own keys at the top level of defaults.
func checkDefaults(r *reader, defaults *node, path string) {
	if defaults == nil {
		return
	}
	for _, key := range ownKeys {
		if e := defaults.entry(key); e != nil {
			r.report(e.at, joinPath(path, key), "belongs to one role and cannot be a default for all",
				"write it under "+joinPath(path, "roles")+".NAME, which holds for roles of that name")
		}
	}
}

func checkShares(r *reader, root *node, key string) {
	shares := root.get(key)
	if shares == nil {
		return
	}
	for _, e := range shares.entries {
		checkDefaults(r, e.value.get("defaults"), joinPath(joinPath(key, e.key), "defaults"))
	}
}
