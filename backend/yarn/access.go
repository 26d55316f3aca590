package yarn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/muster-project/muster/access"
	"github.com/muster-project/muster/hadoop/conf"
	"github.com/muster-project/muster/hadoop/hdfs"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

// Keys by which a cluster says who may do what.
const (
	keyACLs     = "yarn.acl.enable"
	keyAdmins   = "yarn.admin.acl"
	keyFileACLs = "dfs.namenode.acls.enabled"
	keySecurity = "hadoop.security.authentication"
)

// administerQueue is what the scheduler's web service calls that right.
const administerQueue = "ADMINISTER_QUEUE"

// guarded says that a cluster cares who sees what: then so does a job's page.
func guarded(c *conf.Conf) bool {
	return c.Bool(keyACLs, false) || c.String(keySecurity, "simple") != "simple"
}

// admins are the people who administer the cluster, and a queue: those of the
// queues above it, too. "*" there is what YARN takes where nobody wrote
// anything; it stays a matter between them and the resource manager, and opens
// nobody's files.
func (c *cluster) admins(queue string) spec.People {
	out := peopleOf(c.Administrators)
	for _, q := range find(c.Root, queue) {
		for p := q.Path; p != ""; p = p[:max(0, strings.LastIndexByte(p, '.'))] {
			for _, above := range find(c.Root, p) {
				if above.Path == p {
					out = out.And(peopleOf(above.ACLs[administerQueue]))
				}
			}
		}
	}
	return out
}

// peopleOf reads a list of the cluster's; one that names everybody names nobody.
func peopleOf(list string) spec.People {
	p, err := spec.ParsePeople(list)
	if err != nil || p.All {
		return spec.People{}
	}
	return p
}

// rule is who may see the job and act on it.
func (j *job) rule(ctx context.Context) (access.Rule, error) {
	r := access.Rule{Owner: j.User, ACLs: j.plan.ACLs}
	c, err := j.recently(ctx)
	if err == nil && c.Guarded {
		r.Admins = c.admins(queueOf(j.plan))
	}
	return r, err
}

// open lets those in who may see the job and act on it.
func (j *job) open(ctx context.Context) error {
	r, err := j.rule(ctx)
	if err == nil {
		err = j.share(ctx, r)
	}
	return err
}

// shownParts are the directories of a job that whoever may see it can read:
// what is made in them through storage.Shown.
var shownParts = []string{"journal", "endpoint", "apps", "logs"}

// share lets in whom the job's lists name, by HDFS's own lists. All else of the
// job's directory stays its owner's: what was submitted, with its environment,
// the authority's key, checkpoints.
//
//	<job>                               pass       who may see
//	journal endpoint apps logs          read       who may see
//	mailbox                             add to     who may act; nobody removes another's letter
func (j *job) share(ctx context.Context, r access.Rule) error {
	view, modify := r.Viewers(), r.Modifiers()
	if view.IsZero() && modify.IsZero() {
		return nil
	}
	client, ok := j.fs.(interface{ Client() *hdfs.Client })
	if !ok {
		return nil
	}
	c := client.Client()
	g, inner := errgroup.WithContext(ctx)
	set := func(name string, p spec.People, a hdfs.Action, passed bool) {
		g.Go(func() error { return c.SetACL(inner, name, entries(p, a, passed)) })
	}
	set(string(j.dir), view, hdfs.Execute, false)
	for _, part := range shownParts {
		if part == "journal" && keyed(j.plan) {
			continue
		}
		set(path.Join(string(j.dir), part), view, hdfs.Read|hdfs.Execute, true)
	}
	g.Go(func() error {
		if err := c.SetPermission(inner, j.dir.Mailbox(), modeOwn|fs.ModeSticky); err != nil {
			return err
		}
		return c.SetACL(inner, j.dir.Mailbox(), entries(modify, hdfs.Write|hdfs.Execute, false))
	})
	g.Go(func() error { // jobs of before had it for themselves
		info, err := c.Stat(inner, j.store.layout.Jobs())
		if err == nil && info.Mode().Perm()&0o001 == 0 {
			err = c.SetPermission(inner, j.store.layout.Jobs(), modePass)
		}
		return err
	})
	if usual := j.Layout.Job(j.plan.ID); usual != j.dir {
		g.Go(func() error { return c.SetACL(inner, string(usual), entries(view, hdfs.Read, false)) })
	}
	err := g.Wait()
	if errors.Is(err, hdfs.AclProblem) {
		// The resource manager still lets them in, which the plan's warning says.
		j.Log.Warn("nobody else is let into the job's directory", "job", j.plan.ID, "error", err)
		return nil
	}
	return err
}

// keyed says that a task of the job tells its owner an address with a key in it,
// by way of the journal: who has that key is the owner to what answers there.
func keyed(p *plan.Plan) bool { return p.Role("notebook") != nil }

// entries is an HDFS list that gives people a right beside the owner. passed
// says that what is made in the directory gets the same.
func entries(p spec.People, a hdfs.Action, passed bool) []hdfs.ACLEntry {
	const all = hdfs.Read | hdfs.Write | hdfs.Execute
	other := hdfs.Action(0)
	if p.All {
		other = a
	}
	out := []hdfs.ACLEntry{{Subject: hdfs.User, Action: all}, {Subject: hdfs.Group}, {Subject: hdfs.Other, Action: other}}
	for _, name := range p.Users {
		out = append(out, hdfs.ACLEntry{Subject: hdfs.User, Name: name, Action: a})
	}
	for _, name := range p.Groups {
		out = append(out, hdfs.ACLEntry{Subject: hdfs.Group, Name: name, Action: a})
	}
	if passed {
		for _, e := range slices.Clone(out) {
			e.Default = true
			out = append(out, e)
		}
	}
	return out
}

// mostNamed is how many users and groups one HDFS list holds beside its owner,
// its group, others and the mask.
const mostNamed = 32 - 4

// checkACLs warns where those whom a job names will not get to its files.
func (b *Backend) checkACLs(ctx context.Context, p *plan.Plan, layout Layout) []plan.Finding {
	if p.ACLs.IsZero() {
		return nil
	}
	warn := func(key, format string, args ...any) []plan.Finding {
		return []plan.Finding{{Path: key, Warning: true, Problem: fmt.Sprintf(format, args...)}}
	}
	if !b.Conf.Bool(keyFileACLs, true) {
		return warn("acls", "%s is false (%s): HDFS lets nobody else into the job's directory; they see what the resource manager shows, and can end the job there",
			keyFileACLs, b.Conf.Origin(keyFileACLs))
	}
	if n := len(p.ACLs.View.Users) + len(p.ACLs.View.Groups) + len(p.ACLs.Modify.Users) + len(p.ACLs.Modify.Groups); n > mostNamed {
		return warn("acls", "%d users and groups: a list of HDFS holds %d beside the owner; name a group", n, mostNamed)
	}
	if keyed(p) {
		return warn("acls", "the key of the notebook is in the job's journal, which therefore stays its owner's: others see the job's page and its logs by it")
	}
	st := newStore(b.fs, layout)
	if open, err := st.open(ctx, path.Dir(layout.Root)); err == nil && !open {
		return warn("acls", "others cannot pass through %s: hdfs dfs -chmod o+x lets them", path.Dir(layout.Root))
	}
	return nil
}

// lists looks whether HDFS can let others into a job's directory.
func (d *diagnosis) lists(ctx context.Context) {
	client, ok := d.fs.(interface{ Client() *hdfs.Client })
	if !ok {
		return
	}
	_, err := client.Client().ACL(ctx, d.Layout.Jobs())
	switch {
	case errors.Is(err, hdfs.AclProblem):
		d.warn("acls", "an administrator sets it to true; until then whom a job's acls name can only end it at the resource manager",
			"%s is false: nobody else can be let into a job's directory", keyFileACLs)
	case err != nil:
		d.warn("acls", "", "%v", err)
	case !guarded(d.Conf):
		d.warn("acls", "an administrator sets it to true", "%s is false (%s): everybody may see and end every application; HDFS keeps the files of jobs apart all the same",
			keyACLs, cmp.Or(d.Conf.Origin(keyACLs), "not set"))
	default:
		d.ok("acls", "who may see and act on jobs is told to the resource manager and to HDFS")
	}
}
