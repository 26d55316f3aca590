package yarn

import (
	"encoding/json"
	"fmt"
	"strings"

	hadoop "github.com/muster-project/muster/hadoop/yarn"
)

// readScheduler reads the answer of the resource manager's REST call
// «scheduler»: the tree of queues, of the capacity and of the fair scheduler.
func readScheduler(data []byte) (*queue, error) {
	var doc struct {
		Scheduler struct {
			Info json.RawMessage `json:"schedulerInfo"`
		} `json:"scheduler"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("scheduler: the answer cannot be read: %w", err)
	}
	var kind struct {
		Type string    `json:"type"`
		Root fairQueue `json:"rootQueue"`
	}
	if err := json.Unmarshal(doc.Scheduler.Info, &kind); err != nil {
		return nil, fmt.Errorf("scheduler: the answer cannot be read: %w", err)
	}
	switch kind.Type {
	case "capacityScheduler":
		var root capacityQueue
		if err := json.Unmarshal(doc.Scheduler.Info, &root); err != nil {
			return nil, fmt.Errorf("scheduler: the answer cannot be read: %w", err)
		}
		return root.queue("root"), nil
	case "fairScheduler":
		return kind.Root.queue(), nil
	}
	return nil, fmt.Errorf("scheduler: %q is not known", kind.Type)
}

// list reads what is one value or a list of it, and null: Hadoop's JSON writer
// does all three.
type list[T any] []T

func (l *list[T]) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '[' {
		return json.Unmarshal(data, (*[]T)(l))
	}
	if string(data) == "null" {
		return nil
	}
	var one T
	if err := json.Unmarshal(data, &one); err != nil {
		return err
	}
	*l = list[T]{one}
	return nil
}

// amounts is a size as REST writes it.
type amounts struct {
	Memory int64 `json:"memory"`
	VCores int64 `json:"vCores"`
	All    struct {
		Info list[struct {
			Name  string `json:"name"`
			Value int64  `json:"value"`
		}] `json:"resourceInformation"`
	} `json:"resourceInformations"`
}

func (a amounts) size() Size {
	s := Size{Memory: a.Memory, VCores: a.VCores}
	for _, i := range a.All.Info {
		if i.Name != nameMemory && i.Name != nameCores {
			s = s.With(i.Name, i.Value)
		}
	}
	return s
}

type capacityQueue struct {
	Name   string `json:"queueName"`
	Path   string `json:"queuePath"`
	Type   string `json:"type"`
	Kind   string `json:"queueType"` // leaf, parent; new
	State  string `json:"state"`
	Queues struct {
		Queue list[capacityQueue] `json:"queue"`
	} `json:"queues"`
	Labels     list[string] `json:"nodeLabels"`
	Default    string       `json:"defaultNodeLabelExpression"`
	Capacities struct {
		Parts list[struct {
			Partition string  `json:"partitionName"`
			Min       amounts `json:"effectiveMinResource"`
			Max       amounts `json:"effectiveMaxResource"`
		}] `json:"queueCapacitiesByPartition"`
	} `json:"capacities"`
	Resources usages  `json:"resources"`
	Most      amounts `json:"maximumAllocation"`
	ACLs      struct {
		ACL list[struct {
			Type string `json:"accessType"`
			List string `json:"accessControlList"`
		}] `json:"queueAcl"`
	} `json:"queueAcls"`
	Users struct {
		User list[struct {
			Name      string  `json:"username"`
			Active    int     `json:"numActiveApplications"`
			Pending   int     `json:"numPendingApplications"`
			Limit     amounts `json:"userResourceLimit"`
			Masters   amounts `json:"AMResourceUsed"`
			Resources usages  `json:"resources"`
		}] `json:"user"`
	} `json:"users"`
	Factor      float64 `json:"userLimitFactor"`
	UserMasters amounts `json:"userAMResourceLimit"`
	MaxLifetime int64   `json:"maxApplicationLifetime"`
	Pending     int     `json:"numPendingApplications"`
	Active      int     `json:"numActiveApplications"`
	MaxAll      int     `json:"maxApplications"`
	MaxRunning  int     `json:"maxParallelApps"`
	Ordering    string  `json:"orderingPolicyInfo"`
	Auto        bool    `json:"autoCreateChildQueueEnabled"`
	Eligibility string  `json:"autoCreationEligibility"`
}

type usages struct {
	Parts list[struct {
		Partition string  `json:"partitionName"`
		Used      amounts `json:"used"`
		Reserved  amounts `json:"reserved"`
		Masters   amounts `json:"amUsed"`
		Limit     amounts `json:"amLimit"`
	}] `json:"resourceUsagesByPartition"`
}

// shares adds what is used to a partition's share.
func (u usages) shares(into map[string]share) {
	for _, p := range u.Parts {
		s := into[p.Partition]
		s.Used, s.Reserved, s.MasterUsed, s.MasterLimit = p.Used.size(), p.Reserved.size(), p.Masters.size(), p.Limit.size()
		into[p.Partition] = s
	}
}

// endless is how the scheduler writes that there is no limit.
const endless = 1<<31 - 1

func limit(n int) int {
	if n >= endless || n < 0 {
		return 0
	}
	return n
}

func (c *capacityQueue) queue(path string) *queue {
	if c.Path != "" { // not there in older versions
		path = c.Path
	}
	q := &queue{Name: c.Name, Path: path, Leaf: c.Kind == "leaf" || c.Type == "capacitySchedulerLeafQueueInfo",
		State: c.State, Labels: c.Labels, DefaultLabel: c.Default, Parts: map[string]share{}, Most: c.Most.size(),
		Factor: c.Factor, MaxLifetime: c.MaxLifetime, Applications: c.Active + c.Pending, Pending: c.Pending,
		MaxAll: limit(c.MaxAll), MaxRunning: limit(c.MaxRunning), Ordering: c.Ordering,
		Auto: c.Auto || c.Eligibility == "legacy" || c.Eligibility == "flexible"}
	for _, a := range c.ACLs.ACL {
		if a.Type == "SUBMIT_APP" {
			q.Submitters = strings.TrimSpace(a.List)
		}
	}
	for _, p := range c.Capacities.Parts {
		q.Parts[p.Partition] = share{Guaranteed: p.Min.size(), Maximum: p.Max.size()}
	}
	c.Resources.shares(q.Parts)
	for _, u := range c.Users.User {
		m := member{Name: u.Name, Active: u.Active, Pending: u.Pending, Limit: u.Limit.size(),
			MasterUsed: u.Masters.size(), MasterLimit: c.UserMasters.size(), Parts: map[string]share{}}
		u.Resources.shares(m.Parts)
		q.Users = append(q.Users, m)
	}
	for i := range c.Queues.Queue {
		child := &c.Queues.Queue[i]
		q.Children = append(q.Children, child.queue(path+"."+child.Name))
	}
	return q
}

type fairQueue struct {
	Name     string  `json:"queueName"`
	Type     string  `json:"type"`
	Max      amounts `json:"maxResources"`
	Fair     amounts `json:"fairResources"`
	Min      amounts `json:"minResources"`
	Used     amounts `json:"usedResources"`
	Reserved amounts `json:"reservedResources"`
	Masters  amounts `json:"amUsedResources"`
	Limit    amounts `json:"amMaxResources"`
	Most     amounts `json:"maxContainerAllocation"`
	Pending  int     `json:"numPendingApps"`
	Active   int     `json:"numActiveApps"`
	MaxApps  int     `json:"maxApps"`
	Policy   string  `json:"schedulingPolicy"`
	Children struct {
		Queue list[fairQueue] `json:"queue"`
	} `json:"childQueues"`
}

func (f *fairQueue) queue() *queue {
	q := &queue{Name: lastPart(f.Name), Path: f.Name, Leaf: f.Type == "fairSchedulerLeafQueueInfo", State: nodeRunning,
		Most: f.Most.size(), Applications: f.Active + f.Pending, Pending: f.Pending, MaxRunning: limit(f.MaxApps), Ordering: f.Policy,
		Parts: map[string]share{"": {Guaranteed: f.Min.size(), Maximum: f.Max.size(), Used: f.Used.size(), Reserved: f.Reserved.size(),
			MasterUsed: f.Masters.size(), MasterLimit: f.Limit.size()}}}
	for i := range f.Children.Queue {
		q.Children = append(q.Children, f.Children.Queue[i].queue())
	}
	return q
}

// readOverview reads the answer of the REST call «scheduler-overview», which
// Hadoop has since 3.4.
func readOverview(data []byte) (Scheduler, error) {
	var doc struct {
		Scheduler struct {
			Type  string  `json:"schedulerType"`
			Sees  string  `json:"schedulingResourceType"`
			Least amounts `json:"minimumAllocation"`
			Most  amounts `json:"maximumAllocation"`
		} `json:"scheduler"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return Scheduler{}, fmt.Errorf("scheduler-overview: the answer cannot be read: %w", err)
	}
	o := doc.Scheduler
	s := Scheduler{Kind: o.Type, Rounding: hadoop.Rounding{Min: o.Least.size(), Step: o.Least.size(), Max: o.Most.size()}}
	for word := range strings.SplitSeq(strings.Trim(o.Sees, "[]"), ",") {
		name, _, _ := strings.Cut(strings.TrimSpace(word), " ")
		switch name {
		case "":
			continue
		case "memory", "MEMORY":
			name = nameMemory
		case "CPU", "cpu":
			name = nameCores
		}
		s.Sees = append(s.Sees, name)
	}
	return s, nil
}
