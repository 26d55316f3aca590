package yarn

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/muster-project/muster/gang"
	"github.com/muster-project/muster/hadoop/conf"
	"github.com/muster-project/muster/hadoop/pb/yarnpb"
	"github.com/muster-project/muster/hadoop/rpc"
	"github.com/muster-project/muster/hadoop/token"
	hadoop "github.com/muster-project/muster/hadoop/yarn"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/storage"
)

// scout sees what else is on the cluster: other gangs, nodes, the queue. It asks
// the resource manager as a client does, and the ticket directory. One look at
// a time.
type scout struct {
	rm         *hadoop.RM // nil: there is no way to log in as a client
	fs         storage.FS // nil: no tickets
	am         *AM
	partitions []string
	exclusive  map[string]bool // of each label; nil: not asked yet
	firsts     map[string]*yarnpb.ApplicationReport
	log        *slog.Logger
	laid       bool // the own ticket lies there
	failed     string
}

// view is one look.
type view struct {
	gang.View
	nodes  []gang.Node
	shares []gang.Share
}

func newScout(o Opener, p *plan.Plan, s *Settings) (*scout, error) {
	sc := &scout{fs: o.FS, am: o.AM, partitions: partitions(s, p, o.AM.Label), firsts: map[string]*yarnpb.ApplicationReport{}, log: o.Log}
	auth, ok := clientAuth(o)
	if !ok {
		return sc, nil
	}
	var err error
	sc.rm, err = hadoop.NewRM(o.Conf, auth)
	return sc, err
}

// clientAuth is how the coordinator talks to the resource manager as a client:
// by the submitter's token, or by name where nobody asks for more.
func clientAuth(o Opener) (hadoop.Auth, bool) {
	if o.Client != nil {
		return o.Client, true
	}
	if t := o.Credentials.ByKind(token.KindRM); t != nil {
		return func(context.Context) (rpc.Auth, error) { return rpc.Auth{Token: t}, nil }, true
	}
	if secure(o.Conf) {
		return nil, false
	}
	return func(context.Context) (rpc.Auth, error) { return rpc.Auth{User: o.AM.User}, nil }, true
}

func secure(c *conf.Conf) bool {
	return c.String("hadoop.security.authentication", "simple") != "simple"
}

func (s *scout) close() error {
	if s.rm == nil {
		return nil
	}
	return s.rm.Close()
}

// lookLimit bounds one look: an old view is better than waiting for a new one.
const lookLimit = 10 * time.Second

// look sees what there is now. What cannot be seen is left out.
func (s *scout) look(ctx context.Context) view {
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	v := view{View: gang.View{At: time.Now()}}
	var stamps map[string]time.Time
	var reports []*yarnpb.ApplicationReport
	var nodes []*yarnpb.NodeReport
	var queue *yarnpb.QueueInfo
	var errs [5]error
	var calls sync.WaitGroup
	calls.Go(func() { stamps, errs[0] = s.stamps(ctx) })
	if s.rm != nil {
		states := []yarnpb.AppState{yarnpb.AppState_ACCEPTED, yarnpb.AppState_RUNNING}
		calls.Go(func() { reports, errs[1] = s.rm.Applications(ctx, hadoop.Filter{States: states}) })
		calls.Go(func() { nodes, errs[2] = s.rm.Nodes(ctx) })
		calls.Go(func() { queue, errs[3] = s.rm.Queue(ctx, s.am.Queue) })
		calls.Go(func() { errs[4] = s.labels(ctx) })
	}
	calls.Wait()
	v.Tickets = s.says("tickets", errs[0]) && s.fs != nil
	if s.rm == nil {
		return v
	}
	if s.says("applications", errs[1]) {
		v.Reports = true
		s.gangs(ctx, &v.View, reports, stamps)
	}
	s.says("labels", errs[4])
	if s.says("nodes", errs[2]) {
		v.nodes = s.nodesOf(nodes)
	}
	if s.says("queue", errs[3]) {
		v.shares = sharesOf(s.am.Scheduler, queue, s.partitions)
	}
	return v
}

// labels asks once which labels there are.
func (s *scout) labels(ctx context.Context) error {
	if s.exclusive != nil {
		return nil
	}
	labels, err := s.rm.NodeLabels(ctx)
	if err != nil {
		return err
	}
	s.exclusive = map[string]bool{}
	for _, l := range labels {
		s.exclusive[strings.ToLower(l.GetName())] = l.GetExclusive()
	}
	return nil
}

// says logs once what cannot be seen.
func (s *scout) says(what string, err error) bool {
	if err == nil {
		return true
	}
	if errors.Is(err, context.Canceled) {
		return false // nobody waits for it any more
	}
	if s.failed != what+err.Error() {
		s.failed = what + err.Error()
		s.log.Warn("the gang rule sees less than it should", "unseen", what, "error", err)
	}
	return false
}

// gangs tells jobs of ours from others.
func (s *scout) gangs(ctx context.Context, v *gang.View, reports []*yarnpb.ApplicationReport, stamps map[string]time.Time) {
	known := map[string]bool{}
	for _, r := range reports {
		if r.GetApplicationType() != AppType {
			if r.GetState() == yarnpb.AppState_RUNNING {
				v.Foreign++
			}
			continue
		}
		a := s.application(r)
		a.Stamp = stamps[a.ID]
		known[a.ID] = true
		v.Applications = append(v.Applications, a)
	}
	for _, a := range slices.Clone(v.Applications) {
		if a.First == "" || known[a.First] {
			continue
		}
		known[a.First] = true
		if r := s.first(ctx, a.First); r != nil {
			v.Applications = append(v.Applications, s.application(r))
		}
	}
}

// first finds the application whose place another one has. It is over, so it
// does not change any more.
func (s *scout) first(ctx context.Context, id string) *yarnpb.ApplicationReport {
	if r, ok := s.firsts[id]; ok {
		return r
	}
	app, err := hadoop.ParseApp(id)
	if err != nil {
		return nil
	}
	r, err := s.rm.Report(ctx, app)
	if err != nil {
		return nil // the resource manager has forgotten it
	}
	if over(r.GetState()) {
		s.firsts[id] = r
	}
	return r
}

func over(s yarnpb.AppState) bool {
	return s == yarnpb.AppState_FINISHED || s == yarnpb.AppState_FAILED || s == yarnpb.AppState_KILLED
}

// application reads a report in the words of package gang.
func (s *scout) application(r *yarnpb.ApplicationReport) gang.Application {
	a := gang.Application{
		ID: hadoop.AppOf(r.GetApplicationId()).String(), User: r.GetUser(), Queue: r.GetQueue(),
		Priority: int(r.GetPriority().GetPriority()), Progress: float64(r.GetProgress()),
		Visible: r.GetUser() == s.am.User || r.GetHost() != "" && r.GetHost() != "N/A",
	}
	// Unmanaged masters have no launch, and old clusters do not tell it.
	launch := r.GetLaunchTime()
	if launch <= 0 {
		launch = r.GetStartTime()
	}
	if launch > 0 {
		a.Launched = time.UnixMilli(launch)
	}
	for _, tag := range r.GetTags() {
		switch kind, value, _ := strings.Cut(tag, ":"); kind + ":" {
		case Tag(""):
			a.Job = value
		case TicketTag(""):
			a.First = value
		case partitionsTag:
			a.Partitions = strings.Split(value, "+")
		}
	}
	switch {
	case a.ID == s.am.App:
		a.State = gang.Running // we are it; its report may be from just before the registration
	case over(r.GetState()):
		a.State = gang.Over
	case r.GetState() == yarnpb.AppState_RUNNING, r.GetCurrentAttempt().GetAttemptId() > 1:
		a.State = gang.Running // also between two attempts, when its slots stay
		a.Away = r.GetState() != yarnpb.AppState_RUNNING
	}
	return a
}

const partitionsTag = "partitions:"

// nodesOf reads the running nodes.
func (s *scout) nodesOf(reports []*yarnpb.NodeReport) []gang.Node {
	var out []gang.Node
	for _, r := range reports {
		n := gang.Node{Name: named(s.am.Scheduler, hadoop.NodeAddr(r.GetNodeId())), Rack: r.GetRack(),
			Capability: counted(s.am.Scheduler, hadoop.ResourceOf(r.GetCapability())), Used: counted(s.am.Scheduler, hadoop.ResourceOf(r.GetUsed()))}
		if l := r.GetLabels(); len(l) > 0 {
			exclusive, known := s.exclusive[strings.ToLower(l[0])]
			n.Partition, n.Shared = l[0], known && !exclusive
		}
		out = append(out, n)
	}
	return out
}

// sharesOf is what the queue grants in each partition that is asked in.
func sharesOf(by Scheduler, q *yarnpb.QueueInfo, partitions []string) []gang.Share {
	var out []gang.Share
	for _, label := range partitions {
		sh := gang.Share{Partition: label}
		if p := hadoop.Partition(q, label); p != nil {
			if p.EffectiveMin != nil {
				sh.Guaranteed = counted(by, hadoop.ResourceOf(p.GetEffectiveMin()))
			}
			if p.EffectiveMax != nil {
				sh.Maximum = counted(by, hadoop.ResourceOf(p.GetEffectiveMax()))
			}
		} else if label == "" && q.GetMaxMb() > 0 {
			sh.Maximum = maximumOf(by, q)
		}
		if st := q.GetStatistics(); st != nil && label == "" {
			sh.Used = counted(by, Size{Memory: st.GetAllocatedMb(), VCores: st.GetAllocatedVcores()})
		}
		out = append(out, sh)
	}
	return out
}

// maximumOf is what a queue of the FairScheduler may have, as far as it is said:
// 3.5.0 names no processors there, and no other resource ever. What is not named
// is not limited.
func maximumOf(by Scheduler, q *yarnpb.QueueInfo) gang.Size {
	out := gang.Size{}
	for name, n := range map[string]int64{"memory-mb": q.GetMaxMb(), "vcores": int64(q.GetMaxVcores())} {
		if n > 0 && by.Counts(name) {
			out[name] = n
		}
	}
	return out
}
