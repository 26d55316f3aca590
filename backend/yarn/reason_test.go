package yarn

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-project/muster/gang"
	"github.com/muster-project/muster/hadoop/pb/yarnpb"
	hadoop "github.com/muster-project/muster/hadoop/yarn"
)

// Every reason in its words, with its numbers, and which one comes first.
func TestReasons(t *testing.T) {
	am := []want{{"coordinator", "", Size{Memory: 256, VCores: 1}, 1}}
	workers := func(n int, size Size, label string) []want { return []want{{"worker", label, size, n}} }
	one := full(1024, 1, 0)
	used := func(s *situation, node int, size Size) { s.Cluster.Machines[node].Used = size }
	share := func(s *situation, change func(*hadoop.Share)) {
		q := find(s.Cluster.Root, "default")[0]
		p := q.Partitions[""]
		change(&p)
		q.Partitions[""] = p
	}
	fill := func(s *situation) {
		for i := range s.Cluster.Machines {
			used(s, i, full(3584, 7, 0))
		}
	}
	rival := func(id string, minute int, progress float64) gang.Application {
		return gang.Application{ID: id, User: "bob", Job: "m-" + id[len(id)-1:], State: gang.Running, Visible: true, Progress: progress,
			Launched: time.Date(2026, 11, 30, 12, minute, 0, 0, time.UTC)}
	}
	var out strings.Builder
	for _, c := range []struct {
		name   string
		change func(*situation)
	}{
		{"nothing in the way of the coordinator", func(s *situation) { s.Started, s.Wants = false, am }},
		{"nothing in the way of the gang", func(s *situation) { s.Wants = workers(2, one, "") }},
		{"the scheduler's words alone", func(s *situation) { s.Wants = nil; s.Words = []string{"Application is in a bad mood"} }},
		{"am share", func(s *situation) {
			s.Started, s.Wants = false, am
			find(s.Cluster.Root, "default")[0].Running = 2
			share(s, func(p *hadoop.Share) {
				p.AMUsed, p.AMLimit = Size{Memory: 512, VCores: 2}, Size{Memory: 640, VCores: 4}
			})
		}},
		{"am share, but nothing runs: the first is let in", func(s *situation) {
			s.Started, s.Wants = false, am
			share(s, func(p *hadoop.Share) { p.AMUsed, p.AMLimit = Size{}, Size{Memory: 128, VCores: 4} })
		}},
		{"am share of one user", func(s *situation) {
			s.Started, s.Wants, s.Diagnostic = false, am, "not yet activated. User's AM resource limit exceeded."
			q := find(s.Cluster.Root, "default")[0]
			q.Running, q.Users = 2, []hadoop.UserShare{{Name: "alice", AMUsed: Size{Memory: 512, VCores: 2}}}
			share(s, func(p *hadoop.Share) { p.UserAMLimit = Size{Memory: 512, VCores: 4} })
		}},
		{"too many jobs at once", func(s *situation) {
			s.Started, s.Wants = false, am
			q := find(s.Cluster.Root, "default")[0]
			q.Running, q.MaxParallel = 2, 2
		}},
		{"queue stopped", func(s *situation) { find(s.Cluster.Root, "default")[0].State = "STOPPED" }},
		{"user limit", func(s *situation) {
			find(s.Cluster.Root, "default")[0].Users = []hadoop.UserShare{{Name: "alice", Used: full(9216, 9, 0), Limit: full(2048, 4, 1),
				Partitions: map[string]Size{"": full(3072, 3, 0), "batch": full(6144, 6, 0)}}}
		}},
		{"user limit not reached in this partition", func(s *situation) {
			find(s.Cluster.Root, "default")[0].Users = []hadoop.UserShare{{Name: "alice", Used: full(9216, 9, 0), Limit: full(4096, 4, 1),
				Partitions: map[string]Size{"": full(3072, 3, 0), "batch": full(6144, 6, 0)}}}
		}},
		{"queue maximum in use", func(s *situation) { share(s, func(p *hadoop.Share) { p.Used = full(7168, 7, 0) }) }},
		{"more than the queue's maximum", func(s *situation) { s.Wants = workers(9, one, "") }},
		{"no node with the label", func(s *situation) { s.Wants = workers(2, one, "gpu"); s.Cluster.Machines[2].State = "LOST" }},
		{"nothing of the label", func(s *situation) { s.Wants = workers(2, one, "gpu") }},
		{"no node is large enough", func(s *situation) { s.Queue = "ml"; s.Wants = workers(1, full(1024, 1, 1), "batch") }},
		{"cluster full", func(s *situation) { fill(s) }},
		{"fragmentation", func(s *situation) {
			for i := range s.Cluster.Machines {
				used(s, i, full(2560, 2, 0))
			}
			s.Wants = workers(2, full(2048, 1, 0), "")
		}},
		{"full of GPUs only", func(s *situation) {
			used(s, 0, full(128, 1, 4))
			used(s, 1, full(128, 1, 3))
			s.Wants = workers(2, full(128, 1, 1), "")
		}},
		{"cores are not counted", func(s *situation) {
			s.Cluster.Scheduler.Sees = []string{nameMemory}
			for i := range s.Cluster.Machines {
				used(s, i, full(1024, 8, 4))
			}
		}},
		{"behind two gangs", func(s *situation) {
			s.Gangs.Applications = []gang.Application{rival("application_1_0009", 9, 0), rival("application_1_0002", 2, 0), rival("application_1_0003", 3, 0),
				rival("application_1_0004", 1, 0.5)}
			s.App = "application_1_0009"
		}},
		{"behind a gang that was submitted again", func(s *situation) {
			again, first := rival("application_1_0012", 12, 0), rival("application_1_0001", 1, 0)
			again.First, again.Job = first.ID, first.Job
			first.State = gang.Over
			s.Gangs.Applications = []gang.Application{rival("application_1_0009", 9, 0), again, first}
			s.App = "application_1_0009"
		}},
		{"first of two", func(s *situation) {
			s.Gangs.Applications = []gang.Application{rival("application_1_0009", 9, 0), rival("application_1_0010", 10, 0)}
			s.App = "application_1_0009"
		}},
		{"an older gang in another partition", func(s *situation) {
			other := rival("application_1_0002", 2, 0)
			other.Partitions = []string{"gpu"}
			s.Gangs.Applications = []gang.Application{rival("application_1_0009", 9, 0), other}
			s.App = "application_1_0009"
		}},
		{"several, the most important first", func(s *situation) {
			fill(s)
			share(s, func(p *hadoop.Share) { p.Used = full(7168, 7, 0) })
			s.Gangs.Applications = []gang.Application{rival("application_1_0009", 9, 0), rival("application_1_0002", 2, 0)}
			s.App = "application_1_0009"
		}},
		{"little is known", func(s *situation) { s.Cluster = &cluster{Machines: testCluster().Machines} }},
	} {
		s := situation{App: "application_1_0001", User: "alice", Queue: "root.default", State: yarnpb.AppState_RUNNING, Started: true,
			Wants: workers(4, one, ""), Cluster: testCluster()}
		c.change(&s)
		fmt.Fprintf(&out, "# %s\n", c.name)
		for _, r := range reasons(s) {
			numbers, err := json.Marshal(r.Numbers)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&out, "%s: %s\n  next: %s\n  %s\n", r.Code, r.Text, r.Next, numbers)
			if !slices.Contains(importance, r.Code) || r.Text == "" || r.Next == "" {
				t.Errorf("%s: incomplete: %+v", c.name, r)
			}
		}
	}
	golden(t, "reasons", out.String())
}
