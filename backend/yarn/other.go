package yarn

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/muster-project/muster/access"
	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/hadoop/pb/yarnpb"
	hadoop "github.com/muster-project/muster/hadoop/yarn"
)

// modeLetter is that of a letter to another user's job: its coordinator must
// read it, and nobody else gets into the mailbox.
const modeLetter fs.FileMode = 0o644

// other finds a job of another user: the resource manager tells every user whose
// an application is, and the rest is in its owner's directory, for whom it lets
// in. Who is not let in gets the reference, too, and access.Denied with it: the
// resource manager may still let them end the job.
func (b *Backend) other(ctx context.Context, id string) (backend.Ref, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	apps, err := b.rm.Applications(ctx, hadoop.Filter{Types: []string{AppType}, Tags: []string{Tag(id)}})
	if err != nil {
		return backend.Ref{}, b.unreachable(err)
	}
	var newest *yarnpb.ApplicationReport
	for _, a := range apps {
		if a.GetUser() != b.User && a.GetApplicationId().GetId() >= newest.GetApplicationId().GetId() {
			newest = a
		}
	}
	if newest == nil {
		return backend.Ref{}, fmt.Errorf("%s: %w", id, backend.ErrUnknownJob)
	}
	owner := newest.GetUser()
	ref := backend.Ref{Job: id, Owner: owner, Native: hadoop.AppOf(newest.GetApplicationId()).String()}
	theirs := Layout{Root: defaultRoot(b.Conf, owner), Shared: b.Layout.Shared}
	dir, err := b.dirIn(ctx, theirs, id)
	if err == nil {
		ref.Dir = string(dir)
		_, err = b.fs.Stat(ctx, dir.Submission())
	}
	return ref, b.denied(ref, access.View, err)
}

// denied says in muster's words that a file of another user's job is not for the
// caller.
func (b *Backend) denied(ref backend.Ref, right access.Right, err error) error {
	if errors.Is(err, fs.ErrPermission) && ref.Owner != "" {
		return &access.Denied{Job: ref.Job, Owner: ref.Owner, Person: b.User, Right: right}
	}
	return err
}

// stopOther asks the coordinator of another user's job, where the mailbox takes
// letters of the caller; else the resource manager, which knows more lists. The
// journal is sealed by whoever tends the job.
func (b *Backend) stopOther(ctx context.Context, ref backend.Ref, m moment, now bool) error {
	if m.aside != nil || m.n == 0 || m.report.GetState() == yarnpb.AppState_RUNNING {
		err := b.mail(ctx, ref, letter(b.User, now))
		if err == nil && (!now || m.aside != nil || m.n == 0) {
			return nil
		}
		if err == nil {
			if over, err := b.ends(ctx, ref); err != nil || over {
				return err
			}
		} else if !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	return b.killOther(ctx, ref)
}

// killOther has the resource manager end another user's job.
func (b *Backend) killOther(ctx context.Context, ref backend.Ref) error {
	id, err := hadoop.ParseApp(ref.Native)
	if err != nil {
		return err
	}
	err = b.rm.Kill(ctx, id, "")
	switch {
	case err == nil, errors.Is(err, hadoop.NoSuchApplication):
		return nil
	case errors.Is(err, hadoop.Denied), strings.Contains(err.Error(), "cannot perform operation"):
		return &access.Denied{Job: ref.Job, Owner: ref.Owner, Person: b.User, Right: access.Modify}
	}
	return fmt.Errorf("%s: cannot be killed: %w", ref.Native, err)
}

// killedBy is who killed an application, as the resource manager words it.
func killedBy(diagnostics string) string {
	_, rest, found := strings.Cut(diagnostics, " was killed by user ")
	if !found {
		return ""
	}
	who, _, _ := strings.Cut(rest, " ")
	return who
}
