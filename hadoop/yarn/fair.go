package yarn

// rawFairQueue is a queue of the FairScheduler as its JSON has it.
type rawFairQueue struct {
	Type     string                `json:"type"`
	Name     string                `json:"queueName"` // the whole path
	Policy   string                `json:"schedulingPolicy"`
	MaxApps  *number               `json:"maxApps"`
	Active   number                `json:"numActiveApps"`
	Waiting  number                `json:"numPendingApps"`
	Min      *amount               `json:"minResources"`
	Max      *amount               `json:"maxResources"`
	Used     *amount               `json:"usedResources"`
	AMUsed   *amount               `json:"amUsedResources"`
	AMMax    *amount               `json:"amMaxResources"`
	Demand   *amount               `json:"demandResources"`
	Fair     *amount               `json:"fairResources"`
	Steady   *amount               `json:"steadyFairResources"`
	Cluster  *amount               `json:"clusterResources"`
	Reserved *amount               `json:"reservedResources"`
	Largest  *amount               `json:"maxContainerAllocation"`
	Preempt  *bool                 `json:"preemptable"`
	Children wrapped[rawFairQueue] `json:"childQueues"`
}

func (r rawFairQueue) queue() *Queue {
	q := &Queue{
		Path: r.Name, Leaf: r.Type == "fairSchedulerLeafQueueInfo" || r.Type == "" && len(r.Children) == 0,
		Running: r.Active.int(), Pending: r.Waiting.int(),
		MaxApps: Unlimited, MaxAppsPerUser: Unlimited, MaxParallel: limit(r.MaxApps),
		Largest: r.Largest.resource(), Policy: r.Policy, Preemptable: r.Preempt == nil || *r.Preempt,
	}
	s := Share{
		Min: r.Min.resource(), Max: r.Max.resource(), Fair: r.Fair.resource(), Used: r.Used.resource(),
		Reserved: r.Reserved.resource(), AMUsed: r.AMUsed.resource(), AMLimit: r.AMMax.resource(),
	}
	s.Pending = missing(r.Demand.resource(), s.Used)
	if all := r.Cluster.resource(); all.Memory > 0 {
		s.Guaranteed = float64(r.Steady.resource().Memory) / float64(all.Memory)
		s.Maximum = min(float64(s.Max.Memory)/float64(all.Memory), 1)
		s.Usage = float64(s.Used.Memory) / float64(all.Memory)
	}
	q.Partitions = map[string]Share{"": s}
	for _, c := range r.Children {
		q.Children = append(q.Children, c.queue())
	}
	return q
}

// missing is what want has beyond have, never below zero.
func missing(want, have Resource) Resource {
	out := want.Sub(have)
	for _, k := range out.Names() {
		out = out.With(k, max(out.Get(k), 0))
	}
	return out
}
