package framework

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/muster-project/muster/plan"
)

// RosterFile is the name of the file that AddRoster writes; MUSTER_ROSTER
// points to it.
const RosterFile = "roster.json"

// FullRoster is the largest world whose tasks are each sent the whole roster.
// Beyond it N tasks times N members would be more than a coordinator wants to
// write: 256 rosters are some 16 MiB, a thousand a quarter of a GiB.
const FullRoster = 256

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
	f := rosterFile{Job: r.Job, Task: id, Epoch: r.Epoch, Reason: r.Reason, World: r.WorldOf(p, id.Role), Scope: scope, Tasks: r.Tasks(p)}
	if f.World > FullRoster || len(r.Members) > FullRoster {
		f.Scope = ScopeNode
	}
	if f.Scope == ScopeJob {
		f.Members = r.Members
	} else {
		f.Members = near(p, r, id)
	}
	f.Members = slices.Clone(f.Members)
	for i := range f.Members {
		f.Members[i].Control = "" // between executors
	}
	b, err := json.MarshalIndent(f, "", " ")
	if err != nil {
		return fmt.Errorf("%s: %s: %w", id, RosterFile, err)
	}
	l.Files[RosterFile] = append(b, '\n')
	return nil
}

// near is rank 0 and the members of a task's own node, in the roster's order.
func near(p *plan.Plan, r *plan.Roster, id plan.TaskID) []plan.Member {
	var places []int
	if own := r.Member(id); own != nil {
		places = slices.Clone(r.OnNode(p, own.Node))
	}
	if master := Master(p, r, id); master != nil {
		places = append(places, r.Place(master.Task))
	}
	slices.Sort(places)
	var out []plan.Member
	for _, i := range slices.Compact(places) {
		out = append(out, r.Members[i])
	}
	return out
}

// Master is the member with rank 0 among a task's peers, or of the newest
// stage if the task has no rank; nil if nobody has one.
func Master(p *plan.Plan, r *plan.Roster, id plan.TaskID) *plan.Member {
	if role := p.Role(id.Role); role != nil && role.Counted {
		for m := range r.Peers(p, id.Role) {
			if m.Rank == 0 { // the first, but where a job shrank around survivors
				return m
			}
		}
		return nil
	}
	for i := range slices.Backward(r.Members) { // ordered by stage: the last is the newest
		if m := &r.Members[i]; m.Rank == 0 && p.Role(m.Task.Role) != nil {
			return m
		}
	}
	return nil
}
