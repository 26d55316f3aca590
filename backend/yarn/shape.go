package yarn

import (
	"cmp"
	"net"
	"time"

	"github.com/muster-project/muster/backend/yarn/ledger"
	"github.com/muster-project/muster/gang"
	hadoop "github.com/muster-project/muster/hadoop/yarn"
	"github.com/muster-project/muster/plan"
)

// config is what the ledger of this coordinator is made with.
func (m *master) config(found bool) ledger.Config {
	rule := &rule{}
	if found {
		rule.state = gang.Resume()
	}
	times := ledger.DefaultTimes()
	times.Preempt = m.Conf.Duration("yarn.resourcemanager.monitor.capacity.preemption.max_wait_before_kill", times.Preempt, time.Millisecond)
	if d := time.Duration(m.plan.Timeout.Start); d > 0 {
		times.Localise = min(times.Localise, d)
	}
	clocks := gang.DefaultTimes()
	if d := time.Duration(m.plan.Timing.ReplaceWait); d > 0 {
		clocks.Replace = d - d/10 // before the session gives the job up
	}
	return ledger.Config{App: m.AM.App, Plan: m.plan, Shape: m.shape, Rule: rule, Kept: m.AM.Kept, Times: times, Gang: clocks, Named: m.named,
		Master: gang.Holding{Size: m.counted(m.AM.Scheduler.Round(m.AM.Coordinator)), Node: m.named(m.Node), Partition: m.settings.MasterLabel}}
}

// rule is package gang's rule with its memory.
type rule struct{ state gang.State }

func (r *rule) Decide(s gang.Snapshot, now time.Time) (d gang.Decision) {
	r.state, d = gang.Decide(r.state, s, now)
	return d
}

func (r *rule) Next() { r.state = r.state.Next() }

// shape is what the tasks of a role are asked for. Tasks with GPUs are packed on
// as few nodes as fit, unless the job says otherwise.
func (m *master) shape(r *plan.Role) ledger.Shape {
	own := m.settings.Role(r.Name)
	s := ledger.Shape{Size: m.counted(m.AM.Scheduler.Round(m.settings.SizeOf(r))), Partition: cmp.Or(own.NodeLabel, m.AM.Label)}
	if !m.most.IsZero() {
		s.Most = m.counted(m.most)
	}
	at := own.Placement
	s.Away, s.Together, s.Racks = at.Away, at.Together, at.Scope == scopeRack
	switch at.Kind {
	case placeSpread:
		s.Spread = true
		if !s.Racks {
			s.PerNode = 1
		}
	case placePack:
		s.Pack = true
	default:
		s.Pack = r.Resources.GPUs > 0
	}
	return s
}

// counted is a size in the words of package gang: only what the scheduler looks at.
func (m *master) counted(s Size) gang.Size { return counted(m.AM.Scheduler, s) }

func counted(by Scheduler, s Size) gang.Size {
	out := gang.Size{}
	for _, name := range s.Names() {
		if by.Counts(name) {
			out[name] = s.Get(name)
		}
	}
	return out
}

// named is a node's name in asks, and for people.
func (m *master) named(address string) string { return named(m.AM.Scheduler, address) }

func named(by Scheduler, address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil && !by.HostPort {
		return host
	}
	return address
}

// resources is a granted size in a plan's words. Where the scheduler does not
// count processors, it says 1 whatever was asked for.
func resources(asked plan.Resources, got Size) plan.Resources {
	return plan.Resources{CPUs: max(asked.CPUs, float64(got.VCores)), Memory: max(asked.Memory, got.Memory*mib),
		GPUs: max(asked.GPUs, int(got.Get(hadoop.GPU)))}
}
