package yarn

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"github.com/muster-project/muster/api"
	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/hadoop/pb/yarnpb"
	hadoop "github.com/muster-project/muster/hadoop/yarn"
	"github.com/muster-project/muster/storage"
)

// Status asks the resource manager. What it cannot say is unknown, which is no
// end: an application that it has forgotten, or that is being submitted again.
func (b *Backend) Status(ctx context.Context, ref backend.Ref) (backend.Status, error) {
	s := backend.Status{Phase: backend.PhaseUnknown, At: time.Now()}
	if err := b.connect(); err != nil {
		return s, err
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	now, err := b.now(ctx, ref)
	switch {
	case errors.Is(err, backend.ErrUnknownJob):
		return s, err
	case err != nil:
		s.Reason = err.Error()
		return s, nil
	}
	s.Phase, s.Reason = now.phase()
	return s, nil
}

// moment is what is known of a job at one time.
type moment struct {
	try
	report *yarnpb.ApplicationReport // nil: the resource manager does not know it
	aside  *Aside                    // why this submission stepped aside
	over   *event.Outcome            // the journal's end
}

// now looks at the newest submission of a job.
func (b *Backend) now(ctx context.Context, ref backend.Ref) (moment, error) {
	dir := JobDir(ref.Dir)
	if _, err := b.fs.Stat(ctx, dir.Submission()); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%s: %w", ref.Job, backend.ErrUnknownJob)
		}
		return moment{}, err
	}
	t, err := b.newest(ctx, dir)
	if err != nil {
		return moment{}, err
	}
	m := moment{try: t}
	if m.n > 0 {
		id, err := hadoop.ParseApp(m.app)
		if err != nil {
			return m, fmt.Errorf("%s: %w", dir.App(m.n), err)
		}
		if m.report, err = b.rm.Report(ctx, id); err != nil && !errors.Is(err, hadoop.NoSuchApplication) {
			return m, b.unreachable(err)
		}
	}
	if m.report != nil && !m.ended() {
		return m, nil // the journal of a job that runs need not be read
	}
	if m.over, err = sealed(ctx, b.fs, dir); err != nil {
		return m, err
	}
	if m.n > 0 {
		var a Aside
		switch err := readJSON(ctx, b.fs, dir.Aside(m.n), &a); {
		case err == nil:
			m.aside = &a
		case ref.Owner != "" && errors.Is(err, fs.ErrPermission):
			m.aside = &Aside{Reason: "it stepped aside"} // who else may see the job is not told for whom
		case !errors.Is(err, fs.ErrNotExist):
			return m, err
		}
	}
	return m, nil
}

// ended says that the resource manager states an end.
func (m moment) ended() bool {
	return m.report.GetState() >= yarnpb.AppState_FINISHED
}

func (m moment) phase() (backend.Phase, string) {
	switch {
	case m.over != nil:
		return backend.PhaseEnded, m.over.Text
	case m.aside != nil:
		return backend.PhaseQueued, m.aside.Reason + "; it is submitted again when its turn has come"
	case m.n == 0:
		return backend.PhaseUnknown, "it was not submitted to the resource manager yet"
	case m.report == nil:
		return backend.PhaseUnknown, "the resource manager does not know " + m.app
	case m.ended():
		text := firstLine(m.report.GetDiagnostics())
		return backend.PhaseEnded, cmp.Or(text, "the resource manager says that "+m.app+" has ended: "+m.report.GetState().String())
	case m.report.GetState() == yarnpb.AppState_RUNNING && m.report.GetProgress() > 0:
		return backend.PhaseRunning, ""
	case m.report.GetState() == yarnpb.AppState_RUNNING:
		return backend.PhaseQueued, "its gang is not complete"
	}
	return backend.PhaseQueued, firstLine(m.report.GetDiagnostics())
}

// letter asks the coordinator to stop. Who it is from, the coordinator takes from
// whose file it is.
func letter(by string, now bool) api.Mail {
	return api.Mail{Stop: &api.Stop{By: by, Now: now}}
}

// stopPatience is how long a coordinator that was told to stop at once may take
// to say its verdict, before the resource manager ends everything.
const stopPatience = 5 * time.Second

// Stop asks the coordinator, if one lives; otherwise it ends the application and
// the journal itself.
func (b *Backend) Stop(ctx context.Context, ref backend.Ref, now bool) error {
	if err := b.connect(); err != nil {
		return err
	}
	if ref.Owner != "" && ref.Dir == "" {
		return b.killOther(ctx, ref)
	}
	m, err := b.now(ctx, ref)
	if ref.Owner != "" && errors.Is(err, fs.ErrPermission) {
		return b.killOther(ctx, ref)
	}
	if err != nil || m.over != nil {
		return err
	}
	if ref.Owner != "" {
		return b.stopOther(ctx, ref, m, now)
	}
	reason := "stopped by " + b.User
	if m.report.GetState() == yarnpb.AppState_RUNNING {
		if err := b.mail(ctx, ref, letter(b.User, now)); err != nil {
			return err
		}
		if !now {
			return nil
		}
		if over, err := b.ends(ctx, ref); err != nil || over {
			return err
		}
	}
	return b.end(ctx, ref, event.Outcome{State: event.Stopped, Status: 130, Origin: "muster", Class: event.ClassCancelled, Text: reason})
}

// ends waits a little for a job's own end.
func (b *Backend) ends(ctx context.Context, ref backend.Ref) (bool, error) {
	limit, cancel := context.WithTimeout(ctx, stopPatience)
	defer cancel()
	wait := pacer{next: 50 * time.Millisecond, most: 500 * time.Millisecond}
	for {
		m, err := b.now(limit, ref)
		if err == nil && m.over != nil && (m.report == nil || m.ended()) {
			return true, nil
		}
		if wait.pause(limit) != nil {
			return false, ctx.Err()
		}
	}
}

// end kills what the resource manager has of a job and seals its journal, until
// there is nothing new to kill: a keeper may submit the job again meanwhile.
func (b *Backend) end(ctx context.Context, ref backend.Ref, o event.Outcome) error {
	for last := -1; ; {
		t, err := b.newest(ctx, JobDir(ref.Dir))
		if err != nil {
			return err
		}
		if t.n == last {
			return nil
		}
		last = t.n
		if t.n > 0 {
			id, err := hadoop.ParseApp(t.app)
			if err != nil {
				return err
			}
			if err := b.rm.Kill(ctx, id, o.Text); err != nil && !errors.Is(err, hadoop.NoSuchApplication) {
				return fmt.Errorf("%s: cannot be killed: %w", t.app, err)
			}
		}
		if err := b.seal(ctx, ref, o); err != nil {
			return fmt.Errorf("%s: its journal cannot be sealed: %w", ref.Job, err)
		}
	}
}

// mail leaves a message for the coordinator, which looks for it often.
func (b *Backend) mail(ctx context.Context, ref backend.Ref, m api.Mail) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	mode := modeData
	if ref.Owner != "" {
		mode = modeLetter
	}
	return storage.PublishBytes(ctx, b.fs, path.Join(JobDir(ref.Dir).Mailbox(), rand.Text()[:16]+".json"), mode, data)
}
