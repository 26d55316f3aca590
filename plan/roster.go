package plan

// Roster is the result of a roll call: who runs where, on which ports, with
// which rank. Members are in rank order; uncounted roles follow with Rank -1.
type Roster struct {
	Job     string   `json:"job"`
	Epoch   int      `json:"epoch"`
	Reason  string   `json:"reason,omitempty"` // why this epoch was opened: "start", "worker/1 failed", "resize", …
	World   int      `json:"world"`            // processes of the counted roles of the newest stage
	Members []Member `json:"members"`

	Index *RosterIndex `json:"-"` // see MakeIndex
}

// Member is one task in a roster.
type Member struct {
	Task        TaskID         `json:"task"`
	Incarnation int            `json:"incarnation"`
	Node        string         `json:"node"` // the backend's name of the node
	Rack        string         `json:"rack,omitempty"`
	Host        string         `json:"host"`              // address that the other tasks reach
	Control     string         `json:"control,omitempty"` // where its executor listens; not for tasks
	Ports       map[string]int `json:"ports,omitempty"`
	Devices     []string       `json:"devices,omitempty"`
	Procs       int            `json:"procs"`
	Rank        int            `json:"rank"`       // of its first process; the others follow; -1 if not counted
	GroupRank   int            `json:"group_rank"` // position among counted tasks; -1 if not counted
	LocalRank   int            `json:"local_rank"` // of its first process among the counted ones of its node; -1 if not counted
}

// Of returns the members of a role, by index.
func (r *Roster) Of(role string) []Member {
	var out []Member
	for _, m := range r.Members {
		if m.Task.Role == role {
			out = append(out, m)
		}
	}
	return out
}

// Launch is all that an executor needs to start a task's processes, computed
// by the coordinator. Strings may hold ${muster.dir}, ${muster.work},
// ${muster.devices}, ${muster.iface} and ${muster.secret}, which only the executor
// knows.
type Launch struct {
	Argv    []string            `json:"argv"`              // of every process
	Env     map[string]string   `json:"env,omitempty"`     // of every process
	Default map[string]string   `json:"default,omitempty"` // used where not even the submitter's environment says otherwise
	Expand  map[string]string   `json:"expand,omitempty"`  // values whose $VAR are replaced on the node
	Procs   []map[string]string `json:"procs,omitempty"`   // variables of the i-th process alone; its length is the number of processes
	Files   map[string][]byte   `json:"files,omitempty"`   // name → content, written into the task's own directory
	Peers   map[string]Peer     `json:"peers,omitempty"`   // name → whom the task may reach through its executor
	Publish map[string]string   `json:"publish,omitempty"` // key → value, made known when the task is ready
}

// Peer is another task's executor, whom this one may call on behalf of its task.
type Peer struct {
	Task        TaskID `json:"task"`
	Incarnation int    `json:"incarnation"`
	Control     string `json:"control"`
}

// Draft is what a framework may fill and check before the plan is final.
type Draft struct {
	Plan *Plan
	// Written says which keys the author wrote for a role, so that a framework's
	// defaults never override them: Written["ps"]["wait"].
	Written  map[string]map[string]bool
	Findings []Finding
}

// Open says that the author left a role's key to the framework.
func (d *Draft) Open(role, key string) bool { return !d.Written[role][key] }

// Report adds a finding.
func (d *Draft) Report(f Finding) { d.Findings = append(d.Findings, f) }
