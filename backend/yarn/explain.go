package yarn

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/gang"
	"github.com/muster-project/muster/hadoop/pb/yarnpb"
	hadoop "github.com/muster-project/muster/hadoop/yarn"
)

// activityTime is how long the scheduler is given to say why it grants nothing:
// it begins to write that down only when it is asked.
const activityTime = 2 * time.Second

// Explain says why a job waits, the most important reason first; none if it
// does not wait.
func (b *Backend) Explain(ctx context.Context, ref backend.Ref) ([]backend.Reason, error) {
	if err := b.connect(); err != nil {
		return nil, err
	}
	m, err := b.now(ctx, ref)
	if err != nil {
		return nil, err
	}
	switch phase, text := m.phase(); {
	case m.over != nil, phase == backend.PhaseRunning:
		return nil, nil
	case m.aside != nil:
		return []backend.Reason{{Code: reasonAside, Text: text, Next: "it is submitted again by whoever tends it: muster wait, muster run or muster serve"}}, nil
	case m.n == 0:
		return []backend.Reason{{Code: reasonNotSubmitted, Text: text, Next: "submit it once more, or tend it: muster wait " + ref.Job}}, nil
	case m.report == nil:
		return []backend.Reason{{Code: reasonForgotten, Text: text, Next: "tend it: muster wait " + ref.Job + " submits it again or ends it"}}, nil
	case phase == backend.PhaseEnded:
		return nil, nil
	}
	s, err := b.situation(ctx, ref, m)
	if err != nil {
		return nil, err
	}
	return reasons(s), nil
}

// situation gathers what is known of a job that waits. What only the web service
// tells is left out where that does not answer.
func (b *Backend) situation(ctx context.Context, ref backend.Ref, m moment) (situation, error) {
	id, err := hadoop.ParseApp(m.app)
	if err != nil {
		return situation{}, err
	}
	s := situation{App: m.app, User: m.report.GetUser(), Queue: m.report.GetQueue(), State: m.report.GetState(), Diagnostic: m.report.GetDiagnostics()}
	k := &keeping{Backend: b, ref: ref}
	j, err := k.job(ctx)
	if err != nil {
		return s, err
	}
	if s.Cluster, err = b.look(ctx); err != nil {
		return s, err
	}
	attempts, err := b.rm.Attempts(ctx, id)
	if err != nil {
		return s, b.unreachable(err)
	}
	s.Started = s.State == yarnpb.AppState_RUNNING || slices.ContainsFunc(attempts, func(a *yarnpb.AttemptReport) bool {
		return a.GetAmContainerId().GetId() != 0 && a.GetState() != yarnpb.AttemptState_ATTEMPT_FAILED
	})
	app, err := b.web.App(ctx, id)
	if err != nil {
		b.Log.Debug("the resource manager's web service cannot be read", "error", err)
		app = &hadoop.App{}
	}
	s.Held = max(0, app.Running-1)
	s.Wants = b.wants(j, app, s)
	s.Words = b.activities(ctx, id)
	s.Gangs = b.gangs(ctx, j)
	return s, nil
}

// gangs are the jobs that wait, too.
func (b *Backend) gangs(ctx context.Context, j *job) gang.View {
	return j.scout(partitions(j.settings, j.plan, "")).look(ctx).View
}

// scout looks around for a job that has no coordinator.
func (j *job) scout(partitions []string) *scout {
	l := j.store.layout
	return &scout{rm: j.rm, fs: j.fs, am: &AM{User: j.User, Root: l.Root, Shared: l.Shared, Queue: queueOf(j.plan)},
		partitions: partitions, firsts: map[string]*yarnpb.ApplicationReport{}, log: j.Log}
}

// wants are what a job lacks: what it asks for at present, or what it will ask
// for when its turn has come.
func (b *Backend) wants(j *job, app *hadoop.App, s situation) []want {
	c := s.Cluster
	label := ""
	if found := find(c.Root, s.Queue); len(found) == 1 {
		label = found[0].DefaultLabel
	}
	or := func(l string) string {
		if l == "" {
			return label
		}
		return l
	}
	if !s.Started {
		return []want{{"coordinator", or(j.settings.MasterLabel), c.Scheduler.Round(j.settings.Coordinator), 1}}
	}
	var out []want
	for _, a := range app.Asks {
		if a.Where == "*" && a.Count > 0 {
			out = append(out, want{roleOf(j, c, a), a.Label, a.Size, a.Count})
		}
	}
	if out != nil {
		return out
	}
	for i := range j.plan.Roles {
		if r := &j.plan.Roles[i]; r.Stage == 0 {
			out = append(out, want{r.Name, or(j.settings.Role(r.Name).NodeLabel), c.Scheduler.Round(j.settings.SizeOf(r)), r.Instances.Min})
		}
	}
	return out
}

// roleOf names an ask by the role that asks for this much.
func roleOf(j *job, c *cluster, a hadoop.Ask) string {
	var names []string
	for i := range j.plan.Roles {
		r := &j.plan.Roles[i]
		if size := c.Scheduler.Round(j.settings.SizeOf(r)); size.Fits(a.Size) && a.Size.Fits(size) {
			names = append(names, r.Name)
		}
	}
	if len(names) == 0 {
		return "a slot"
	}
	return strings.Join(names, " or ")
}

// activities are the scheduler's own words on why it grants nothing, each once.
func (b *Backend) activities(ctx context.Context, id hadoop.AppID) []string {
	ctx, cancel := context.WithTimeout(ctx, activityTime)
	defer cancel()
	a, err := b.web.AppActivities(ctx, id)
	if err != nil {
		b.Log.Debug("the scheduler's activities cannot be read", "error", err)
		return nil
	}
	var out []string
	for _, x := range a.List {
		if text := firstLine(x.Diagnostic); text != "" && x.State != "ALLOCATED" && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}
