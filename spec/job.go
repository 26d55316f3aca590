package spec

// Job is a job file as its author wrote it, after all layers are merged.
// Pure data: nothing here knows a backend, a path on this machine or a clock.
//
// A job with one role may write the fields of Role at the top level; Normalize
// moves them into Roles, so that later code sees roles only.
type Job struct {
	Name      string         `yaml:"name,omitempty" json:"name,omitempty" doc:"what people call the job; need not be unique"`
	Framework string         `yaml:"framework,omitempty" json:"framework,omitempty" doc:"how tasks find each other: plain, pytorch, tensorflow and more; muster frameworks lists them"`
	On        string         `yaml:"on,omitempty" json:"on,omitempty" doc:"BACKEND or BACKEND:SITE; default local"`
	Queue     string         `yaml:"queue,omitempty" json:"queue,omitempty" doc:"queue on the backend"`
	Priority  int            `yaml:"priority,omitempty" json:"priority,omitempty" doc:"higher starts earlier; default 0"`
	Python    Python         `yaml:"python,omitempty" json:"python,omitzero" doc:"the Python environment of every task"`
	Workdir   Workdir        `yaml:"workdir,omitempty" json:"workdir,omitzero" doc:"directory sent to every task"`
	Files     []File         `yaml:"files,omitempty" json:"files,omitempty" doc:"more files for every task: SOURCE[::NAME][#archive] or SOURCE#NAME"`
	Timeout   Timeout        `yaml:"timeout,omitempty" json:"timeout,omitzero" doc:"how long to wait in the queue, for the start, and for the run"`
	Lease     Duration       `yaml:"lease,omitempty" json:"lease,omitempty" zero:"no" doc:"how long tasks go on without a coordinator; default is the backend's"`
	Logs      Logs           `yaml:"logs,omitempty" json:"logs,omitzero" doc:"size and number of kept log files per process and stream"`
	ACLs      ACLs           `yaml:"acls,omitempty" json:"acls,omitzero" doc:"who else than the owner and the administrators may see the job and act on it"`
	Native    map[string]any `yaml:"native,omitempty" json:"native,omitempty" doc:"settings passed to one backend as they are"`
	Role      `yaml:",inline"`
	Roles     Roles `yaml:"roles,omitempty" json:"roles,omitempty" doc:"groups of identical tasks"`
}

// Role is a named group of identical tasks. A nil or zero field means "not
// written": plan.Build fills it from the job, the framework and the role's name.
type Role struct {
	Instances    Count               `yaml:"instances,omitempty" json:"instances,omitzero" zero:"no" doc:"number of tasks: 4, or 3..4 for an elastic job"`
	Procs        int                 `yaml:"procs,omitempty" json:"procs,omitempty" zero:"no" doc:"processes per task; default 1"`
	CPUs         float64             `yaml:"cpus,omitempty" json:"cpus,omitempty" zero:"no" doc:"processors per task; default 1"`
	Memory       Size                `yaml:"memory,omitempty" json:"memory,omitempty" zero:"no" doc:"memory per task, as in 4GiB"`
	GPUs         int                 `yaml:"gpus,omitempty" json:"gpus,omitempty" doc:"GPUs per task"`
	Command      Command             `yaml:"command,omitempty" json:"command,omitzero" doc:"a string (run by bash -c) or a list (executed as it is)"`
	Env          map[string]EnvValue `yaml:"env,omitempty" json:"env,omitempty" doc:"environment: NAME: value, or NAME: {expand: 'text with $VAR'}"`
	Image        string              `yaml:"image,omitempty" json:"image,omitempty" doc:"container image"`
	Ports        map[string]int      `yaml:"ports,omitempty" json:"ports,omitempty" doc:"NAME: NUMBER, 0 for any free one; seen as MUSTER_PORT_NAME"`
	Wait         *bool               `yaml:"wait,omitempty" json:"wait,omitempty" doc:"does the job wait for this role to finish"`
	EndsJob      *bool               `yaml:"ends_job,omitempty" json:"ends_job,omitempty" doc:"the job is done when this role is done"`
	OnFailure    OnFailure           `yaml:"on_failure,omitempty" json:"on_failure,omitempty" doc:"stop, restart, tolerate or ignore"`
	MaxFailures  Failures            `yaml:"max_failures,omitempty" json:"max_failures,omitzero" zero:"no" doc:"for tolerate: a count, or a percentage of the role"`
	Restarts     *int                `yaml:"restarts,omitempty" json:"restarts,omitempty" doc:"how often a failed task, role or job is started again"`
	RestartScope Scope               `yaml:"restart_scope,omitempty" json:"restart_scope,omitempty" doc:"what is started again: task, role or job"`
	After        []After             `yaml:"after,omitempty" json:"after,omitempty" doc:"roles that come first: [ps] or [{role: ps, is: ready}]"`
	OnPreempt    *OnPreempt          `yaml:"on_preempt,omitempty" json:"on_preempt,omitempty" doc:"what tasks are told before they are preempted"`
	StopGrace    Duration            `yaml:"stop_grace,omitempty" json:"stop_grace,omitempty" zero:"no" doc:"time between the stop signal and the kill; default 30s"`
	Progress     Progress            `yaml:"progress,omitempty" json:"progress,omitzero" doc:"what of the output tells how far a task is: true (the bars of known frameworks), false, or {patterns}"`
	Linger       *Linger             `yaml:"linger,omitempty" json:"linger,omitempty" doc:"how long this role may go on after the roles it follows are done"`
}

// Timeout bounds the phases of a job; zero means no limit.
type Timeout struct {
	Queue Duration `yaml:"queue,omitempty" json:"queue,omitempty" doc:"from submission until the gang is granted"`
	Start Duration `yaml:"start,omitempty" json:"start,omitempty" doc:"from the grant until every task runs"`
	Run   Duration `yaml:"run,omitempty" json:"run,omitempty" doc:"from the first start until the end"`
}

// Logs caps what is kept of one stream of one process.
type Logs struct {
	MaxSize Size `yaml:"max_size,omitempty" json:"max_size,omitempty" zero:"no" doc:"size at which a log file is rotated; default 256MiB"`
	Keep    int  `yaml:"keep,omitempty" json:"keep,omitempty" doc:"rotated files kept beside the current one; default 3"`
}
