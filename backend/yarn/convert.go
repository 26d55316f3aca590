package yarn

import (
	"time"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/backend/yarn/ledger"
	"github.com/muster-project/muster/hadoop/pb/yarnpb"
	hadoop "github.com/muster-project/muster/hadoop/yarn"
)

// request is a heartbeat in the scheduler's form.
func (m *master) request(b ledger.Beat) *yarnpb.AllocateRequest {
	req := &yarnpb.AllocateRequest{Progress: new(progress(m.book.Gathering(), m.fraction))}
	for _, a := range b.Asks {
		r := &yarnpb.ResourceRequest{
			Priority: hadoop.PriorityOf(a.Priority), ResourceName: new(a.Place),
			Capability: m.settings.SizeOf(m.plan.Role(a.Role)).Proto(), NumContainers: new(int32(a.Count)),
			RelaxLocality: new(a.Relax), ExecutionType: hadoop.Guaranteed(), AllocationRequestId: new(a.Class),
		}
		if a.Partition != "" {
			r.NodeLabelExpression = new(a.Partition)
		}
		req.Ask = append(req.Ask, r)
	}
	for _, slot := range b.Release {
		if id, err := hadoop.ParseContainer(slot); err == nil { // slots are named by us
			req.Release = append(req.Release, id.Proto())
		}
	}
	if len(b.Block)+len(b.Unblock) > 0 {
		req.Blacklist = &yarnpb.Blacklist{Add: b.Block, Remove: b.Unblock}
	}
	return req
}

// progress is what the resource manager shows, and what other gangs go by: it
// is exactly 0 while this gang is not complete.
func progress(gathering bool, fraction float64) float32 {
	if gathering {
		return 0
	}
	return float32(0.01 + 0.99*fraction)
}

// answerOf reads the scheduler's answer.
func (m *master) answerOf(r *yarnpb.AllocateResponse) ledger.Answer {
	a := ledger.Answer{
		Allocated: m.containers(r.GetAllocated()), Previous: m.containers(r.GetContainersFromPreviousAttempts()),
		Nodes: int(r.GetNumClusterNodes()),
	}
	if r.Headroom != nil {
		a.Headroom = m.counted(hadoop.ResourceOf(r.GetHeadroom()))
	}
	for _, c := range r.GetAllocated() {
		m.gave[hadoop.ContainerOf(c.GetId()).String()] = c
	}
	for _, s := range r.GetCompleted() {
		st := statusOf(s)
		st.Ended = true
		a.Completed = append(a.Completed, st)
		delete(m.gave, st.ID)
	}
	for _, p := range [][]*yarnpb.PreemptedContainer{r.GetPreempt().GetStrict().GetContainers(), r.GetPreempt().GetNegotiable().GetContainers()} {
		for _, c := range p {
			a.Preempt = append(a.Preempt, hadoop.ContainerOf(c.GetId()).String())
		}
	}
	for _, n := range r.GetUpdatedNodes() {
		a.News = append(a.News, ledger.News{Address: hadoop.NodeAddr(n.GetNodeId()), Condition: conditionOf(n.GetState()),
			Report: n.GetHealthReport(), Left: time.Duration(n.GetDecommissioningTimeout()) * time.Second})
	}
	return a
}

func conditionOf(s yarnpb.NodeState) ledger.Condition {
	switch s {
	case yarnpb.NodeState_NS_NEW, yarnpb.NodeState_NS_RUNNING:
		return ledger.Well
	case yarnpb.NodeState_NS_UNHEALTHY:
		return ledger.Ill
	case yarnpb.NodeState_NS_DECOMMISSIONING:
		return ledger.Leaving
	}
	return ledger.Lost
}

// containers reads what the scheduler gave.
func (m *master) containers(list []*yarnpb.Container) []ledger.Container {
	var out []ledger.Container
	for _, c := range list {
		got := hadoop.ResourceOf(c.GetResource())
		l := ledger.Container{ID: hadoop.ContainerOf(c.GetId()).String(), Address: hadoop.NodeAddr(c.GetNodeId()),
			Class: c.GetAllocationRequestId(), Size: m.counted(got)}
		l.Slot = backend.Slot{ID: l.ID, Resources: resources(m.book.Asked(l.Class), got)}
		out = append(out, l)
	}
	return out
}
