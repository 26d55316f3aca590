package framework

import (
	"encoding/json"
	"fmt"

	"github.com/muster-project/muster/plan"
)

// RosterFile is the name of the file that AddRoster writes; MUSTER_ROSTER
// points to it.
const RosterFile = "roster.json"

// FullRoster is the largest world whose tasks are each sent the whole roster.
// Beyond it N tasks times N members would be more than a network wants.
const FullRoster = 1024

// Scope says which members a roster file holds.
type Scope string

// The scopes of a roster file.
const (
	ScopeJob  Scope = "job"  // everybody
	ScopeNode Scope = "node" // rank 0 and the members of the reader's own node
)

// rosterFile is what a task reads: the roster with its scope, and counts that
// are right whatever the scope.
type rosterFile struct {
	Job     string         `json:"job"`
	Task    plan.TaskID    `json:"task"` // the reader
	Epoch   int            `json:"epoch"`
	Reason  string         `json:"reason,omitempty"`
	World   int            `json:"world"`
	Scope   Scope          `json:"scope"`
	Tasks   map[string]int `json:"tasks"` // of each role
	Members []plan.Member  `json:"members"`
}

// AddRoster adds the roster file for a task. ScopeJob shrinks to ScopeNode
// where the world is larger than FullRoster.
func AddRoster(l *plan.Launch, p *plan.Plan, r *plan.Roster, id plan.TaskID, scope Scope) error {
	f := rosterFile{Job: r.Job, Task: id, Epoch: r.Epoch, Reason: r.Reason, World: r.WorldOf(p, id.Role), Scope: scope, Tasks: map[string]int{}}
	if f.World > FullRoster || len(r.Members) > FullRoster {
		f.Scope = ScopeNode
	}
	own, master := r.Member(id), Master(p, r, id)
	for i := range r.Members {
		m := &r.Members[i]
		f.Tasks[m.Task.Role]++
		if f.Scope == ScopeJob || own != nil && m.Node == own.Node || master != nil && m.Task == master.Task {
			f.Members = append(f.Members, *m)
		}
	}
	b, err := json.MarshalIndent(f, "", " ")
	if err != nil {
		return fmt.Errorf("%s: %s: %w", id, RosterFile, err)
	}
	l.Files[RosterFile] = append(b, '\n')
	return nil
}

// Master is the member with rank 0 among a task's peers, or of the newest
// stage if the task has no rank; nil if nobody has one.
func Master(p *plan.Plan, r *plan.Roster, id plan.TaskID) *plan.Member {
	stage := -1
	if role := p.Role(id.Role); role != nil && role.Counted {
		stage = role.Stage
	}
	var found *plan.Member
	for i := range r.Members {
		m := &r.Members[i]
		role := p.Role(m.Task.Role)
		if m.Rank == 0 && role != nil && (stage < 0 || role.Stage == stage) {
			found = m // members are ordered by stage: the last is the newest
		}
	}
	return found
}
