package yarn

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// Scheduler is the scheduler's own view: more than RM.Queue tells.
type Scheduler struct {
	Kind string // capacity, fair, fifo
	Root *Queue
}

// Queue is one queue of the scheduler. What a scheduler does not tell is zero;
// a limit that there is not is Unlimited.
type Queue struct {
	Path     string // root.research.nlp
	Leaf     bool
	State    string // RUNNING, STOPPED, DRAINING; the FairScheduler has no states
	Children []*Queue

	Running, Pending int // applications that are active, and that wait to be
	MaxApps          int
	MaxAppsPerUser   int
	MaxParallel      int // applications at once, all users (3.3 on)

	Partitions map[string]Share // by label; "" is the default partition, the only one of a FairScheduler
	Largest    Resource         // the largest container, zero when not told
	Users      []UserShare

	AMShare         float64 // of the maximum that masters may use, 0..1
	UserLimit       float64 // 0..1: what each user is sure of when many want it
	UserLimitFactor float64 // how many times the guaranteed share one user may have; -1 is unlimited
	Policy          string  // fifo, fair, drf …
	Priority        int
	Preemptable     bool // may lose containers to other queues

	Labels       []string // "*" is any
	DefaultLabel string
	Lifetime     int64             // default, in seconds; 0 or less is none
	MaxLifetime  int64             // in seconds
	ACLs         map[string]string // "SUBMIT_APP" to "user,user group,group"
}

// Unlimited stands for a number that the scheduler does not limit.
const Unlimited = 1<<31 - 1

// Share is a queue's part of one label's partition. Shares are 0..1 of the whole
// partition; amounts are as the cluster stands now.
type Share struct {
	Guaranteed float64
	Maximum    float64
	Usage      float64

	Min, Max    Resource // the FairScheduler's are what its file says
	Fair        Resource // the FairScheduler's share at this moment
	Used        Resource
	Reserved    Resource
	Pending     Resource // asked for and not granted; the FairScheduler tells demand less use
	AMUsed      Resource
	AMLimit     Resource // what masters may use; zero in a FairScheduler's empty queue
	UserAMLimit Resource // what one user's masters may use
}

// UserShare is one user's part of a leaf queue (CapacityScheduler).
type UserShare struct {
	Name             string
	Running, Pending int
	Used             Resource
	AMUsed           Resource
	Limit            Resource            // at this moment: it moves with use
	Partitions       map[string]Resource // used, by label: Limit holds in each of them
	Weight           float64
}

// Scheduler reads all queues and their limits.
func (r *REST) Scheduler(ctx context.Context) (*Scheduler, error) {
	var raw struct {
		Scheduler struct {
			Info json.RawMessage `json:"schedulerInfo"`
		} `json:"scheduler"`
	}
	if _, err := r.rm(ctx, "/ws/v1/cluster/scheduler", nil, &raw); err != nil {
		return nil, err
	}
	return parseScheduler(raw.Scheduler.Info)
}

func parseScheduler(info json.RawMessage) (*Scheduler, error) {
	var kind struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(info, &kind); err != nil {
		return nil, fmt.Errorf("scheduler: %w", err)
	}
	switch {
	case strings.HasPrefix(kind.Type, "capacity"):
		var q rawCapacityQueue
		if err := json.Unmarshal(info, &q); err != nil {
			return nil, fmt.Errorf("scheduler: %w", err)
		}
		return &Scheduler{Kind: "capacity", Root: q.queue("")}, nil
	case strings.HasPrefix(kind.Type, "fair"):
		var f struct {
			Root rawFairQueue `json:"rootQueue"`
		}
		if err := json.Unmarshal(info, &f); err != nil {
			return nil, fmt.Errorf("scheduler: %w", err)
		}
		return &Scheduler{Kind: "fair", Root: f.Root.queue()}, nil
	case strings.HasPrefix(kind.Type, "fifo"):
		return &Scheduler{Kind: "fifo", Root: &Queue{Path: "root", Leaf: true, MaxApps: Unlimited, MaxParallel: Unlimited, MaxAppsPerUser: Unlimited}}, nil
	}
	return nil, fmt.Errorf("scheduler: the kind %q is not known", kind.Type)
}

// Find looks a queue up by its path or, where only one leaf has it, its last part.
func (s *Scheduler) Find(name string) *Queue {
	var exact, byLeaf *Queue
	many := false
	s.Root.walk(func(q *Queue) {
		switch {
		case q.Path == name:
			exact = q
		case q.Leaf && leaf(q.Path) == name:
			many = byLeaf != nil
			byLeaf = q
		}
	})
	if exact == nil && !many {
		return byLeaf
	}
	return exact
}

// Leaves lists the queues that take applications.
func (s *Scheduler) Leaves() []*Queue {
	var out []*Queue
	s.Root.walk(func(q *Queue) {
		if q.Leaf {
			out = append(out, q)
		}
	})
	return out
}

func (q *Queue) walk(visit func(*Queue)) {
	if q == nil {
		return
	}
	visit(q)
	for _, c := range q.Children {
		c.walk(visit)
	}
}
