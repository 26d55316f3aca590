package coordinator

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"syscall"

	"github.com/muster-project/muster/access"
	"github.com/muster-project/muster/api"
	"github.com/muster-project/muster/storage"
)

// admit decides whether a letter counts. Whose it is the file system says, not
// the letter: its word is taken only where the file is this coordinator's own
// user's, because then whoever may write in their name has vouched for it.
func (k *coordinator) admit(ctx context.Context, file fs.FileInfo, m *api.Mail) error {
	author := authorOf(file)
	if author == "" {
		return nil
	}
	switch {
	case m.Stop != nil:
		m.Stop.By = author
	case m.Requeue != nil:
		m.Requeue.By = author
	case m.Signal != nil:
		m.Signal.By = author
	}
	return k.may(ctx, author)
}

// authorOf is who a file belongs to; nobody where it is our own or root's on
// this machine's file system, or where the file system does not tell.
func authorOf(file fs.FileInfo) string {
	if o, ok := file.(storage.Owned); ok {
		return o.Owner()
	}
	st, ok := file.Sys().(*syscall.Stat_t)
	if !ok || st.Uid == 0 || int(st.Uid) == os.Getuid() {
		return ""
	}
	id := strconv.FormatUint(uint64(st.Uid), 10)
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return id
}

// errUnsure says that it could not be found out now whether somebody may act.
var errUnsure = errors.New("groups are not known")

// may says nothing where somebody may act on the job. Groups are asked for only
// where they matter.
func (k *coordinator) may(ctx context.Context, name string) error {
	rule := k.Access
	p := access.Person{Name: name}
	if rule.May(p, access.Modify) {
		return nil
	}
	if rule.Grouped(access.Modify) && k.Groups != nil {
		var err error
		if p.Groups, err = k.Groups(ctx, name); err != nil {
			return fmt.Errorf("%s: %w: %w", name, errUnsure, err)
		}
		if rule.May(p, access.Modify) {
			return nil
		}
	}
	return &access.Denied{Job: k.sub.Plan.ID, Owner: rule.Owner, Person: name, Right: access.Modify}
}
