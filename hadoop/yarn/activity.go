package yarn

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"
)

// Activity is one thing that the scheduler decided, and why.
type Activity struct {
	Time       time.Time
	App        AppID
	Queue      string
	Node       string // host:port; empty when it is about no single node
	Partition  string
	Priority   int   // of the ask
	Class      int64 // allocation request id; 0 when it is about the whole application
	State      string
	Diagnostic string
	Count      int // how often in what was recorded
}

// Activities is what the scheduler recorded. Only the CapacityScheduler does;
// without any record, Note is its word on why.
type Activities struct {
	Note string
	List []Activity // newest first, repetitions counted
}

// AppActivities tells why an application gets no containers. The scheduler
// records only once it is asked, and for a few seconds: this waits for what it
// records until it is there or the context ends; then Note says so. Nothing is
// recorded while every node is full, since a full node is not looked at: give
// the context a few seconds.
func (r *REST) AppActivities(ctx context.Context, id AppID) (Activities, error) {
	for {
		var raw struct {
			App rawActivity `json:"appActivities"`
		}
		if _, err := r.rm(ctx, "/ws/v1/cluster/scheduler/app-activities/"+id.String(), nil, &raw); err != nil {
			return Activities{}, err
		}
		a := raw.App.flatten(Activity{App: id})
		if len(a.List) > 0 || !strings.HasPrefix(a.Note, "waiting") {
			return a, nil
		}
		if err := pause(ctx, 300*time.Millisecond); err != nil {
			return a, nil //nolint:nilerr // the note says that nothing has been recorded yet
		}
	}
}

// Activities tells what the scheduler did at the last heartbeat of a node
// (host:port), or of any when it is empty. The first call only starts the record.
func (r *REST) Activities(ctx context.Context, node string) (Activities, error) {
	q := map[string][]string{}
	if node != "" {
		q["nodeId"] = []string{node}
	}
	var raw struct {
		All list[rawActivity] `json:"activities"`
	}
	if _, err := r.rm(ctx, "/ws/v1/cluster/scheduler/activities", q, &raw); err != nil {
		return Activities{}, err
	}
	var out Activities
	for _, a := range raw.All {
		part := a.flatten(Activity{})
		out.Note = cmp.Or(out.Note, part.Note)
		out.List = append(out.List, part.List...)
	}
	return out, nil
}

// rawActivity is any level of the tree: a heartbeat, a queue, an application, a
// request, a node. Versions name the levels below in different ways.
type rawActivity struct {
	App        string            `json:"applicationId"`
	Name       string            `json:"name"`
	Node       string            `json:"nodeId"`
	Nodes      list[string]      `json:"nodeIds"`
	Time       number            `json:"timestamp"`
	Queue      string            `json:"queueName"`
	Partition  string            `json:"partition"`
	Priority   *number           `json:"requestPriority"`
	Class      *number           `json:"allocationRequestId"`
	State      string            `json:"allocationState"`
	Final      string            `json:"finalAllocationState"`
	Diagnostic text              `json:"diagnostic"`
	Count      number            `json:"count"`
	Root       *rawActivity      `json:"root"`
	Children   list[rawActivity] `json:"children"`
	Allocs     list[rawActivity] `json:"allocations"`
	Requests   list[rawActivity] `json:"requestAllocation"` // before 3.3
	Attempts   list[rawActivity] `json:"allocationAttempt"` // before 3.3
}

// flatten lists what has a reason or is a leaf, each with what the levels above
// it say.
func (r rawActivity) flatten(above Activity) Activities {
	var out Activities
	seen := map[Activity]int{}
	r.walk(above, func(a Activity, n int) {
		key := a
		key.Time = time.Time{}
		if i, ok := seen[key]; ok {
			out.List[i].Count += n
			return
		}
		seen[key] = len(out.List)
		a.Count = n
		out.List = append(out.List, a)
	})
	// A record without levels below it is only a word.
	if len(r.Allocs) == 0 && r.Root == nil && len(r.Children) == 0 && r.Diagnostic != "" {
		return Activities{Note: string(r.Diagnostic)}
	}
	return out
}

func (r rawActivity) walk(a Activity, visit func(Activity, int)) {
	r.inherit(&a)
	below := 0
	for _, l := range []list[rawActivity]{r.Allocs, r.Children, r.Requests, r.Attempts} {
		for _, c := range l {
			below++
			c.walk(a, visit)
		}
	}
	if r.Root != nil {
		below++
		r.Root.walk(a, visit)
	}
	a.Diagnostic = string(r.Diagnostic)
	if a.State == "" || below > 0 && a.Diagnostic == "" {
		return
	}
	visit(a, max(r.Count.int(), 1, len(r.Nodes)))
}

// inherit takes over what this level knows better than those above.
func (r rawActivity) inherit(a *Activity) {
	if t := stamp(r.Time); !t.IsZero() {
		a.Time = t
	}
	a.Node, a.Queue, a.Partition = cmp.Or(r.Node, a.Node), cmp.Or(r.Queue, a.Queue), cmp.Or(r.Partition, a.Partition)
	a.State = cmp.Or(r.State, r.Final, a.State)
	if r.Priority != nil {
		a.Priority = r.Priority.int()
	}
	if r.Class != nil {
		a.Class = r.Class.int64()
	}
	for _, name := range []string{r.App, r.Name} {
		if id, err := ParseApp(name); err == nil {
			a.App = id
		}
	}
	if r.Name == "root" || strings.HasPrefix(r.Name, "root.") {
		a.Queue = r.Name
	}
}

// String is one line for people: state, where, and why.
func (a Activity) String() string {
	where := a.Node
	if where == "" {
		where = a.Queue
	}
	return strings.TrimSuffix(fmt.Sprintf("%s on %s: %s", strings.ToLower(a.State), where, strings.ReplaceAll(a.Diagnostic, "\n", " ")), ": ")
}
