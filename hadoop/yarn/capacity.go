package yarn

import "strings"

// rawCapacityQueue is a queue of the CapacityScheduler as its JSON has it;
// percentages are 0..100.
type rawCapacityQueue struct {
	Type       string                    `json:"type"`
	Name       string                    `json:"queueName"`
	Path       string                    `json:"queuePath"` // 3.3 on
	State      string                    `json:"state"`
	Queues     wrapped[rawCapacityQueue] `json:"queues"`
	QueueType  string                    `json:"queueType"` // 3.3 on
	Cap        number                    `json:"absoluteCapacity"`
	MaxCap     number                    `json:"absoluteMaxCapacity"`
	UsedCap    number                    `json:"absoluteUsedCapacity"`
	Active     number                    `json:"numActiveApplications"`
	Waiting    number                    `json:"numPendingApplications"`
	MaxApps    *number                   `json:"maxApplications"`
	PerUser    *number                   `json:"maxApplicationsPerUser"`
	Parallel   *number                   `json:"maxParallelApps"`
	Capacities struct {
		List list[rawPartition] `json:"queueCapacitiesByPartition"`
	} `json:"capacities"`
	Resources struct {
		List list[rawUsage] `json:"resourceUsagesByPartition"`
	} `json:"resources"`
	MinNow       *amount            `json:"minEffectiveCapacity"`
	MaxNow       *amount            `json:"maxEffectiveCapacity"`
	Largest      *amount            `json:"maximumAllocation"`
	AMShare      number             `json:"configuredMaxAMResourceLimit"`
	AMLimit      *amount            `json:"AMResourceLimit"`
	UserAMLimit  *amount            `json:"userAMResourceLimit"`
	AMUsed       *amount            `json:"usedAMResource"`
	Used         *amount            `json:"resourcesUsed"`
	Users        wrapped[rawUser]   `json:"users"`
	UserLimit    number             `json:"userLimit"`
	Factor       number             `json:"userLimitFactor"`
	Policy       text               `json:"orderingPolicyInfo"`
	Priority     number             `json:"queuePriority"`
	NoPreemption bool               `json:"preemptionDisabled"`
	Labels       list[string]       `json:"nodeLabels"`
	Label        string             `json:"defaultNodeLabelExpression"`
	Lifetime     number             `json:"defaultApplicationLifetime"`
	MaxLifetime  number             `json:"maxApplicationLifetime"`
	ACLs         wrapped[rawACLRow] `json:"queueAcls"`
}

type rawACLRow struct {
	Access string `json:"accessType"`
	List   string `json:"accessControlList"`
}

type rawPartition struct {
	Name    string  `json:"partitionName"`
	Cap     number  `json:"absoluteCapacity"`
	MaxCap  number  `json:"absoluteMaxCapacity"`
	UsedCap number  `json:"absoluteUsedCapacity"`
	Min     *amount `json:"effectiveMinResource"`
	Max     *amount `json:"effectiveMaxResource"`
}

type rawUsage struct {
	Name        string  `json:"partitionName"`
	Used        *amount `json:"used"`
	Reserved    *amount `json:"reserved"`
	Pending     *amount `json:"pending"`
	AMUsed      *amount `json:"amUsed"`
	AMLimit     *amount `json:"amLimit"`
	UserAMLimit *amount `json:"userAmLimit"`
}

type rawUser struct {
	Name    string  `json:"username"`
	Used    *amount `json:"resourcesUsed"`
	Waiting number  `json:"numPendingApplications"`
	Active  number  `json:"numActiveApplications"`
	AMUsed  *amount `json:"AMResourceUsed"`
	Limit   *amount `json:"userResourceLimit"`
	Weight  *number `json:"userWeight"`

	Resources struct {
		List list[rawUsage] `json:"resourceUsagesByPartition"`
	} `json:"resources"`
}

func (r rawCapacityQueue) queue(parent string) *Queue {
	q := &Queue{
		Path: r.path(parent), State: r.State, Running: r.Active.int(), Pending: r.Waiting.int(),
		Leaf:    len(r.Queues) == 0 && r.QueueType != "parent" && (strings.Contains(r.Type, "Leaf") || r.MaxApps != nil),
		MaxApps: limit(r.MaxApps), MaxAppsPerUser: limit(r.PerUser), MaxParallel: limit(r.Parallel),
		Partitions: r.shares(), Largest: r.Largest.resource(), AMShare: float64(r.AMShare),
		UserLimit: share(r.UserLimit), UserLimitFactor: float64(r.Factor), Policy: string(r.Policy), Priority: r.Priority.int(),
		Preemptable: !r.NoPreemption, Labels: r.Labels, DefaultLabel: r.Label,
		Lifetime: r.Lifetime.int64(), MaxLifetime: r.MaxLifetime.int64(),
	}
	for _, a := range r.ACLs {
		if q.ACLs == nil {
			q.ACLs = map[string]string{}
		}
		q.ACLs[a.Access] = a.List
	}
	for _, u := range r.Users {
		weight := 1.0
		if u.Weight != nil {
			weight = float64(*u.Weight)
		}
		parts := map[string]Resource{}
		for _, p := range u.Resources.List {
			parts[p.Name] = p.Used.resource()
		}
		q.Users = append(q.Users, UserShare{
			Partitions: parts,
			Name:       u.Name, Running: u.Active.int(), Pending: u.Waiting.int(), Used: u.Used.resource(),
			AMUsed: u.AMUsed.resource(), Limit: u.Limit.resource(), Weight: weight,
		})
	}
	for _, c := range r.Queues {
		q.Children = append(q.Children, c.queue(q.Path))
	}
	return q
}

func (r rawCapacityQueue) path(parent string) string {
	switch {
	case r.Path != "":
		return r.Path
	case parent == "" || strings.HasPrefix(r.Name, parent+"."):
		return r.Name
	}
	return parent + "." + r.Name
}

// shares joins what is told of capacities and of use, partition by partition.
// Versions before labels tell the default partition in the queue itself.
func (r rawCapacityQueue) shares() map[string]Share {
	out := map[string]Share{}
	for _, p := range r.Capacities.List {
		out[p.Name] = Share{
			Guaranteed: share(p.Cap), Maximum: share(p.MaxCap), Usage: share(p.UsedCap),
			Min: p.Min.resource(), Max: p.Max.resource(),
		}
	}
	for _, u := range r.Resources.List {
		s := out[u.Name]
		s.Used, s.Reserved, s.Pending = u.Used.resource(), u.Reserved.resource(), u.Pending.resource()
		s.AMUsed, s.AMLimit, s.UserAMLimit = u.AMUsed.resource(), u.AMLimit.resource(), u.UserAMLimit.resource()
		out[u.Name] = s
	}
	s := out[""]
	if len(r.Capacities.List) == 0 {
		s.Guaranteed, s.Maximum, s.Usage = share(r.Cap), share(r.MaxCap), share(r.UsedCap)
	}
	if s.Min.IsZero() && s.Max.IsZero() {
		s.Min, s.Max = r.MinNow.resource(), r.MaxNow.resource()
	}
	if len(r.Resources.List) == 0 {
		s.Used, s.AMUsed, s.AMLimit = r.Used.resource(), r.AMUsed.resource(), r.AMLimit.resource()
	}
	if s.UserAMLimit.IsZero() { // the list leaves it out while the user has nothing
		s.UserAMLimit = r.UserAMLimit.resource()
	}
	out[""] = s
	return out
}

func share(percent number) float64 { return float64(percent) / 100 }

func limit(n *number) int {
	if n == nil || n.int64() >= Unlimited || n.int64() < 0 {
		return Unlimited
	}
	return n.int()
}
