package plan

import "slices"

// RosterIndex answers what is asked of a roster for each of its tasks, so that
// launching all of them does not look at all of them for each. It follows from
// the members, and is no part of what a roster says.
type RosterIndex struct {
	place map[TaskID]int   // in Members
	nodes map[string][]int // places of a node's members, in order
	roles map[string]int   // number of tasks
	world map[string]int   // of a counted role's stage
	peers map[TaskID]Peerage
}

// Equal holds: what an index says, its roster says too.
func (*RosterIndex) Equal(*RosterIndex) bool { return true }

// Peerage is where a task with ranks stands among those that share its ranks.
type Peerage struct {
	Groups    int // tasks, as far as group ranks go
	RoleWorld int // processes of its role
	RoleRank  int // of its first process among these
}

// MakeIndex readies a roster to be asked for every task of a job. Nothing about
// ranks, roles and nodes may change in it afterwards.
func (r *Roster) MakeIndex(p *Plan) {
	if r.Index == nil {
		r.Index = r.index(p)
	}
}

// index is the one that was made, or else one for this time.
func (r *Roster) index(p *Plan) *RosterIndex {
	if r.Index != nil {
		return r.Index
	}
	x := &RosterIndex{place: make(map[TaskID]int, len(r.Members)), nodes: map[string][]int{}, roles: map[string]int{},
		world: map[string]int{}, peers: make(map[TaskID]Peerage, len(r.Members))}
	for i := range r.Members {
		m := &r.Members[i]
		x.place[m.Task] = i
		x.nodes[m.Node] = append(x.nodes[m.Node], i)
		x.roles[m.Task.Role]++
	}
	for i := range p.Roles {
		x.rank(p, r, p.Roles[i].Name)
	}
	return x
}

// rank notes the standing of a role's tasks.
func (x *RosterIndex) rank(p *Plan, r *Roster, role string) {
	groups, procs, world := 0, 0, -1
	var own []*Member
	for m := range r.Peers(p, role) {
		world = max(world, m.Rank+m.Procs)
		groups = max(groups, m.GroupRank+1)
		if m.Task.Role == role {
			x.peers[m.Task] = Peerage{RoleRank: procs} // members come in rank order
			procs += m.Procs
			own = append(own, m)
		}
	}
	for _, m := range own {
		g := x.peers[m.Task]
		g.Groups, g.RoleWorld = groups, procs
		x.peers[m.Task] = g
	}
	if world >= 0 {
		x.world[role] = world
	}
}

// Member returns the member for a task, or nil.
func (r *Roster) Member(id TaskID) *Member {
	if i := r.Place(id); i >= 0 {
		return &r.Members[i]
	}
	return nil
}

// Place is where a task stands in Members, or -1.
func (r *Roster) Place(id TaskID) int {
	if r.Index == nil {
		return slices.IndexFunc(r.Members, func(m Member) bool { return m.Task == id })
	}
	if i, ok := r.Index.place[id]; ok {
		return i
	}
	return -1
}

// OnNode returns the places in Members of those on a node, in order.
func (r *Roster) OnNode(p *Plan, node string) []int { return r.index(p).nodes[node] }

// Tasks returns how many tasks of each role there are. The caller changes nothing.
func (r *Roster) Tasks(p *Plan) map[string]int { return r.index(p).roles }

// Peerage returns the standing of a task; zero if it has no rank.
func (r *Roster) Peerage(p *Plan, id TaskID) Peerage { return r.index(p).peers[id] }

// WorldOf is the number of ranks that a role's processes share, gaps included;
// for a role without ranks, that of the newest stage.
func (r *Roster) WorldOf(p *Plan, role string) int {
	if world, ok := r.index(p).world[role]; ok {
		return world
	}
	return r.World
}
