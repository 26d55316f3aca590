package yarn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/gang"
	"github.com/muster-project/muster/hadoop/kerberos"
	"github.com/muster-project/muster/hadoop/pb/yarnpb"
	hadoop "github.com/muster-project/muster/hadoop/yarn"
)

// How often a keeper looks, and how long it believes in what it cannot explain.
const (
	keepFirst = 500 * time.Millisecond
	keepMost  = 5 * time.Second
	// lostTime is how long the resource manager may not know an application, or
	// say that it has ended while its journal is open, before the job is given up:
	// it may be restarting, and a coordinator seals before it says goodbye.
	lostTime = time.Minute
	// sealTime is the same for an application whose end is stated.
	sealTime = 10 * time.Second
)

// Keep tends a job until its journal is sealed.
func (b *Backend) Keep(ctx context.Context, ref backend.Ref) error {
	if err := b.connect(); err != nil {
		return unticketed(err)
	}
	k := &keeping{Backend: b, ref: ref}
	wait := pacer{next: keepFirst, most: keepMost}
	for {
		over, err := k.look(ctx, time.Now())
		if over {
			return nil
		}
		if ctx.Err() == nil {
			k.says(err)
		}
		if err := wait.pause(ctx); err != nil {
			return err
		}
		if k.near {
			wait.next = keepFirst // something is about to happen
		}
	}
}

// keeping is one keeper's memory of one job.
type keeping struct {
	*Backend

	ref   backend.Ref
	state gang.State
	scout *scout
	since time.Time // that something was not as it should be
	odd   string    // what
	said  string    // of what went wrong
	near  bool
}

// says logs once what keeps a job from being tended, and that nothing does any more.
func (k *keeping) says(err error) {
	text := ""
	if err != nil {
		text = unticketed(err).Error()
	}
	switch {
	case text == k.said:
	case err != nil:
		k.Log.Warn("job cannot be tended at present", "job", k.ref.Job, "error", text)
	default:
		k.Log.Info("job is tended again", "job", k.ref.Job)
	}
	k.said = text
}

// unticketed says plainly that only a new ticket helps: a keeper outlives many.
func unticketed(err error) error {
	if errors.Is(err, kerberos.ErrExpired) || errors.Is(err, kerberos.ErrNoTicket) {
		return fmt.Errorf("tending waits for kinit: %w", err)
	}
	return err
}

// look does what is to be done for a job at present.
func (k *keeping) look(ctx context.Context, now time.Time) (over bool, err error) {
	m, err := k.now(ctx, k.ref)
	if err != nil {
		return false, err
	}
	k.near = false
	switch {
	case m.over != nil:
		return true, nil
	case m.aside != nil:
		k.near = true
		return false, k.again(ctx, m, now)
	case m.n == 0:
		return false, k.again(ctx, m, now)
	case m.report == nil:
		return false, k.forgotten(ctx, m, now)
	case m.ended():
		k.near = true
		return false, k.broken(ctx, m, now)
	}
	k.odd = ""
	return false, nil
}

// lasting says that something has been odd in the same way for a time.
func (k *keeping) lasting(what string, now time.Time, limit time.Duration) bool {
	if k.odd != what {
		k.odd, k.since = what, now
	}
	return now.Sub(k.since) >= limit
}

// again submits a job once more: one that stepped aside when its turn has come,
// and one whose client died before it could.
func (k *keeping) again(ctx context.Context, m moment, now time.Time) error {
	j, err := k.job(ctx)
	if err != nil {
		return err
	}
	aside := Aside{}
	if m.aside != nil {
		aside = *m.aside
		if k.scout == nil {
			k.scout = j.scout(aside.Partitions)
		}
		var may bool
		var text string
		k.state, may, text = gang.MayReturn(k.state, aside.Gang(), k.scout.look(ctx).View, gang.DefaultTimes(), now)
		k.Log.Debug("job stepped aside", "job", k.ref.Job, "may_return", may, "because", text)
		if !may {
			return nil
		}
	}
	t, err := j.submit(ctx, m.n+1, aside)
	if err != nil {
		return err
	}
	k.state = gang.State{}
	k.Log.Info("job was submitted again", "job", k.ref.Job, "application", t.app)
	return nil
}

// job reads a job's submission back.
func (k *keeping) job(ctx context.Context) (*job, error) {
	dir := JobDir(k.ref.Dir)
	var sub backend.Submission
	if err := readJSON(ctx, k.fs, dir.Submission(), &sub); err != nil {
		return nil, err
	}
	if sub.Plan == nil {
		return nil, fmt.Errorf("%s: no plan in it", dir.Submission())
	}
	s, _ := Decode(sub.Plan) // what was wrong was refused
	return &job{Backend: k.Backend, store: newStore(k.fs, k.layout(s)), dir: dir, plan: sub.Plan, settings: s}, nil
}

// forgotten is for an application that the resource manager does not know. If no
// coordinator ever lived it may never have arrived, and is handed in again.
func (k *keeping) forgotten(ctx context.Context, m moment, now time.Time) error {
	begun, err := k.begun(ctx)
	if err != nil {
		return err
	}
	if !begun {
		j, err := k.job(ctx)
		if err != nil {
			return err
		}
		_, err = j.submit(ctx, m.n, Aside{})
		return err
	}
	if !k.lasting("forgotten", now, lostTime) {
		return nil
	}
	return k.seal(ctx, k.ref, event.Outcome{State: event.Failed, Status: 75, Origin: "muster", Class: event.ClassLost,
		Text: "the resource manager has forgotten " + m.app, Hint: "its checkpoint, if it wrote one, is in " + k.ref.Dir + "/checkpoint"})
}

// begun says that a coordinator has opened the journal.
func (k *keeping) begun(ctx context.Context) (bool, error) {
	files, err := k.fs.List(ctx, k.ref.Dir+"/journal")
	return len(files) > 0, err
}

// broken is for an application that has ended while its journal is open.
func (k *keeping) broken(ctx context.Context, m moment, now time.Time) error {
	if !k.lasting("ended", now, sealTime) {
		return nil
	}
	return k.seal(ctx, k.ref, outcome(m.report))
}

// outcome is what the resource manager says of an end that no coordinator wrote
// down.
func outcome(r *yarnpb.ApplicationReport) event.Outcome {
	text := firstLine(r.GetDiagnostics())
	o := event.Outcome{State: event.Failed, Status: 70, Origin: "muster", Class: event.ClassInternal,
		Text: cmp.Or(text, "the coordinator of "+r.GetName()+" ended without a verdict"),
		Hint: fmt.Sprintf("its log: yarn logs -applicationId %s, or %s", hadoop.AppOf(r.GetApplicationId()), r.GetTrackingUrl())}
	if r.GetState() == yarnpb.AppState_KILLED || r.GetFinalStatus() == yarnpb.FinalStatus_APP_KILLED {
		o.State, o.Status, o.Class, o.Hint = event.Stopped, 130, event.ClassCancelled, ""
		o.Text = cmp.Or(text, "killed at the resource manager")
		if who := killedBy(text); who != "" {
			_, why, _ := strings.Cut(text, " with diagnostic message: ")
			o.Text = strings.TrimSuffix("killed at the resource manager by "+who+": "+why, ": ")
		}
	}
	return o
}
