package yarn

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/hadoop/pb/yarnpb"
	"github.com/muster-project/muster/hadoop/rpc"
	hadoop "github.com/muster-project/muster/hadoop/yarn"
	"github.com/muster-project/muster/history"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
	"github.com/muster-project/muster/storage"
)

// beat is how often coordinators ask the resource manager.
const beat = spec.Duration(time.Second)

// Submit writes the job's directory and starts its coordinator. Whatever of it
// happened before, by this process or another, is taken as it is: the
// directory's submission and the application id in it are made exclusively.
func (b *Backend) Submit(ctx context.Context, sub backend.Submission) (backend.Ref, error) {
	if err := b.connect(); err != nil {
		return backend.Ref{}, err
	}
	s, findings := Decode(sub.Plan)
	if err := plan.Refuse(findings); err != nil {
		return backend.Ref{}, err
	}
	st := newStore(b.fs, b.layout(s))
	if err := st.prepare(ctx); err != nil {
		return backend.Ref{}, err
	}
	dir := st.layout.Job(sub.Plan.ID)
	first, err := b.writeJob(ctx, st, dir, sub)
	if err != nil {
		return backend.Ref{}, err
	}
	j := &job{Backend: b, store: st, dir: dir, plan: sub.Plan, settings: s}
	t, err := try{}, j.open(ctx)
	if err == nil {
		err = b.storeKeytab(ctx, dir, s)
	}
	if err == nil {
		t, err = j.submit(ctx, 1, Aside{})
	}
	if err != nil {
		if first && !errors.Is(err, errUndecided) {
			err = errors.Join(err, b.forget(ctx, sub.Plan.ID, dir))
		}
		return backend.Ref{}, err
	}
	return backend.Ref{Job: sub.Plan.ID, Native: t.app, Dir: string(dir)}, nil
}

// jobParts are the directories of every job.
var jobParts = []string{"journal", "endpoint", "mailbox", "apps", "checkpoint", "logs"}

// writeJob makes a job's directory and says whether this call was the first.
func (b *Backend) writeJob(ctx context.Context, st *store, dir JobDir, sub backend.Submission) (first bool, err error) {
	data, err := json.Marshal(sub)
	if err != nil {
		return false, fmt.Errorf("submission: cannot be written as JSON: %w", err)
	}
	if err := b.fs.Mkdir(ctx, string(dir), modeOwn); err != nil {
		return false, err
	}
	for _, part := range jobParts {
		if err := b.fs.Mkdir(ctx, string(dir)+"/"+part, modeOwn); err != nil {
			return false, err
		}
	}
	if usual := b.Layout.Job(sub.Plan.ID); usual != dir {
		if err := b.point(ctx, usual, dir); err != nil {
			return false, err
		}
	}
	err = storage.PublishBytes(ctx, b.fs, dir.Submission(), modeData, data)
	if !errors.Is(err, fs.ErrExist) {
		return err == nil, err
	}
	there, err := readFile(ctx, b.fs, dir.Submission())
	if err != nil {
		return false, err
	}
	if !bytes.Equal(there, data) {
		return false, fmt.Errorf("%s: another job has this id", sub.Plan.ID)
	}
	return false, nil
}

// point leaves a file where a job is looked for first, which names its directory.
func (b *Backend) point(ctx context.Context, usual, dir JobDir) error {
	if err := newStore(b.fs, b.Layout).prepare(ctx); err != nil {
		return err
	}
	err := storage.PublishBytes(ctx, b.fs, string(usual), modeData, []byte(dir))
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// forget removes what a refused submission left.
func (b *Backend) forget(ctx context.Context, id string, dir JobDir) error {
	err := discard(ctx, b.fs, string(dir))
	if usual := b.Layout.Job(id); usual != dir {
		err = errors.Join(err, discard(ctx, b.fs, string(usual)))
	}
	return err
}

// errUndecided says that the resource manager may have the application or not.
var errUndecided = errors.New("it may have been submitted or not")

// job is a job on its way to the resource manager.
type job struct {
	*Backend

	store    *store
	dir      JobDir
	plan     *plan.Plan
	settings *Settings
}

// submit is the n-th submission of a job: it may be repeated, and by several at
// once, who then submit the same application.
func (j *job) submit(ctx context.Context, n int, aside Aside) (try, error) {
	id, err := j.claim(ctx, n)
	if err != nil {
		return try{}, err
	}
	t := try{n: n, app: id.String()}
	// What the resource manager knows already is submitted; what it has forgotten
	// has ended if the journal says so.
	if _, err := j.rm.Report(ctx, id); err == nil {
		return t, nil
	} else if !errors.Is(err, hadoop.NoSuchApplication) {
		return try{}, j.unreachable(err)
	}
	if over, err := sealed(ctx, j.fs, j.dir); err != nil || over != nil {
		return t, err
	}
	am, err := j.describe(ctx, n, id, aside)
	if err != nil {
		return try{}, err
	}
	return t, j.hand(ctx, id, am, aside.Ticket)
}

// claim gives the application id of the n-th submission: whoever writes it first
// decides.
func (j *job) claim(ctx context.Context, n int) (hadoop.AppID, error) {
	text, err := readText(ctx, j.fs, j.dir.App(n))
	if errors.Is(err, fs.ErrNotExist) {
		var id hadoop.AppID
		if id, _, err = j.rm.NewApplication(ctx); err != nil {
			return id, j.unreachable(err)
		}
		err = storage.PublishBytes(ctx, storage.Shown(j.fs), j.dir.App(n), modeData, []byte(id.String()))
		if err == nil {
			return id, nil
		}
		if errors.Is(err, fs.ErrExist) {
			text, err = readText(ctx, j.fs, j.dir.App(n))
		}
	}
	if err != nil {
		return hadoop.AppID{}, err
	}
	return hadoop.ParseApp(text)
}

// hand gives the application to the resource manager and waits until that has
// kept it: before, it could forget the application by restarting.
func (j *job) hand(ctx context.Context, id hadoop.AppID, am *AM, ticket string) error {
	info, err := j.fs.Stat(ctx, j.dir.AM(am.Try))
	if err != nil {
		return err
	}
	files := map[string]Resource{FileMuster: am.Muster, FileSite: am.Site,
		FileAM: {Path: j.dir.AM(am.Try), Size: info.Size(), Time: info.ModTime().UnixMilli(), Once: true}}
	if err := j.keytabFiles(ctx, files); err != nil {
		return err
	}
	// They are of this submission alone: the resource manager ends them with it.
	cred, err := FetchTokens(ctx, j.Conf, j.Login, j.settings.Filesystems)
	if err != nil {
		return j.refusal(err)
	}
	c, err := coordinatorContainer(files, cred, j.plan.ACLs).Proto(am.Filesystem)
	if err != nil {
		return err
	}
	context, err := applicationOf(j.plan, j.settings, am.Partitions, ticket).proto(id.Proto(), c)
	if err != nil {
		return err
	}
	context.CancelTokensWhenComplete = new(!foreign(j.Login))
	wait := pacer{next: 5 * time.Millisecond, most: 500 * time.Millisecond}
	for {
		if err := j.rm.Submit(ctx, context); err != nil {
			// Of two that submit one application at the same time one may be told that it
			// is there already.
			if _, unknown := j.rm.Report(ctx, id); unknown != nil {
				return j.notSubmitted(err)
			}
		}
		for {
			r, err := j.rm.Report(ctx, id)
			if errors.Is(err, hadoop.NoSuchApplication) {
				break // it restarted and had not kept it: once more
			}
			if err != nil {
				return j.notSubmitted(err)
			}
			switch state := r.GetState(); {
			case state == yarnpb.AppState_FAILED && r.GetCurrentAttempt().GetAttemptId() <= 0:
				return rejected(id, r.GetDiagnostics())
			case state >= yarnpb.AppState_ACCEPTED:
				return nil
			}
			if err := wait.pause(ctx); err != nil {
				return fmt.Errorf("%s: %w: %w", id, errUndecided, err)
			}
		}
		if err := wait.pause(ctx); err != nil {
			return fmt.Errorf("%s: %w: %w", id, errUndecided, err)
		}
	}
}

// notSubmitted tells a refusal from an answer that did not come.
func (j *job) notSubmitted(err error) error {
	if remote, ok := errors.AsType[*rpc.RemoteError](err); ok {
		return j.refusal(fmt.Errorf("yarn: the resource manager refused the job: %w", remote))
	}
	return hint(fmt.Errorf("%w: %w", errUndecided, j.unreachable(err)),
		"muster stop %s ends it; muster status %s tells what became of it", j.plan.ID, j.plan.ID)
}

// rejected is what became of an application that was taken, and then did not
// please: the resource manager renews its tokens first.
func rejected(id hadoop.AppID, diagnostics string) error {
	err := fmt.Errorf("yarn: the resource manager refused the job as %s: %s", id, firstLine(diagnostics))
	if strings.Contains(strings.ToLower(diagnostics), "renew") {
		err = hint(err, "the resource manager must reach each file system of the job, and be the one whom %s names", keyRMPrincipal)
	}
	return err
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// sealed gives the end of a job as its journal tells it, nil if it tells none.
func sealed(ctx context.Context, fsys storage.FS, dir JobDir) (*event.Outcome, error) {
	for e, err := range history.Read(ctx, fsys, string(dir), 1) {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if f, ok := e.Body.(*event.JobFinished); ok {
			return &f.Outcome, nil
		}
	}
	return nil, nil
}
