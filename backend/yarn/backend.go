package yarn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/hadoop/conf"
	"github.com/muster-project/muster/hadoop/hdfs"
	"github.com/muster-project/muster/hadoop/login"
	hadoop "github.com/muster-project/muster/hadoop/yarn"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/storage"
)

// Name is what "on:" in a job file says.
const Name = "yarn"

// Config is what the client's side is told.
type Config struct {
	// Conf is the cluster's configuration. Where none could be read, Trouble says
	// why: then only Diagnose and Render have an answer.
	Conf    *conf.Conf
	Trouble error
	// Login is how the cluster is called; nil where Denied says why it cannot be.
	Login  *login.Login
	Denied error
	// Getenv gives the environment that the caller's Kerberos is found by; nil for none.
	Getenv func(string) string
	// User is who acts: the short name of whom the cluster takes us for, or of whom
	// we act for.
	User string
	// Site is the name of the cluster in the user's settings, for messages.
	Site string
	// Layout says where muster's files lie; what is empty is the default.
	Layout Layout
	// Muster and Executor give the paths of the binaries that coordinators and
	// executors run from. Both must run on the cluster's nodes.
	Muster, Executor func() (string, error)
	// Seal ends a job's journal without a coordinator.
	Seal func(ctx context.Context, ref backend.Ref, o event.Outcome) error
	// Kept says that somebody will tend the jobs that are submitted: see
	// backend.Keeper.
	Kept bool
	Log  *slog.Logger
}

// Backend is the client's side.
type Backend struct {
	Config

	open sync.Once
	err  error
	fs   storage.FS
	rm   *hadoop.RM
	web  *hadoop.REST

	mu   sync.Mutex
	seen *cluster // newest look
	at   time.Time
}

var (
	_ backend.Backend   = (*Backend)(nil)
	_ backend.Lister    = (*Backend)(nil)
	_ backend.Home      = (*Backend)(nil)
	_ backend.Stager    = (*Backend)(nil)
	_ backend.Keeper    = (*Backend)(nil)
	_ backend.Explainer = (*Backend)(nil)
	_ backend.Doctor    = (*Backend)(nil)
)

// New makes a backend. Nothing is connected until something is asked.
func New(c Config) *Backend {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	c.Layout.Root = cmp.Or(c.Layout.Root, defaultRoot(c.Conf, c.User))
	c.Layout.Shared = cmp.Or(c.Layout.Shared, defaultShared)
	return &Backend{Config: c}
}

// defaultShared is where tickets lie that all users must see.
const defaultShared = "/tmp/muster-gangs"

// defaultRoot is the user's home on the cluster, where that is by the site's custom.
func defaultRoot(c *conf.Conf, user string) string {
	above := "/user"
	if c != nil {
		above = c.String("dfs.user.home.dir.prefix", above)
	}
	return path.Join(above, user, ".muster")
}

// Name is what "on:" in a job file says.
func (*Backend) Name() string { return Name }

// connect opens what all calls need. It does not reach for the cluster yet.
func (b *Backend) connect() error {
	b.open.Do(func() {
		if b.err = b.Trouble; b.err != nil {
			return
		}
		if b.Conf == nil {
			b.err = errors.New("yarn: no configuration: HADOOP_CONF_DIR names the directory of the cluster's site files")
			return
		}
		if b.err = b.Denied; b.err != nil {
			return
		}
		if b.fs, b.err = openFiles(b.Conf, b.Login); b.err != nil {
			return
		}
		if b.rm, b.err = hadoop.NewRM(b.Conf, b.Login.RM()); b.err != nil {
			return
		}
		b.web, b.err = openREST(b.Conf, b.Login)
	})
	return b.err
}

// Close ends the connections, and forgets the tickets.
func (b *Backend) Close() error {
	var err error
	if b.web != nil {
		err = errors.Join(b.web.Close(), b.rm.Close())
	}
	if b.Login != nil {
		err = errors.Join(err, b.Login.Close())
	}
	if f, ok := b.fs.(interface{ Client() *hdfs.Client }); ok {
		err = errors.Join(err, f.Client().Close())
	}
	return err
}

// Proves tells by which keytab or ticket cache the cluster is called; nothing where
// it asks for no proof, or tokens are shown.
func (b *Backend) Proves() (keytab, principal, cache string) {
	if b.Login == nil {
		return "", "", ""
	}
	p, err := b.Login.Proof()
	switch {
	case err != nil || p.Principal == "":
		return "", "", ""
	case p.Keytab:
		return p.From, p.Principal, ""
	}
	return "", "", p.From
}

// Owner is whose jobs these are: who the cluster takes us for.
func (b *Backend) Owner() string { return b.User }

// FS is the cluster's file system.
func (b *Backend) FS() storage.FS {
	if err := b.connect(); err != nil {
		return broken{&unusable{err}}
	}
	return b.fs
}

// unusable is why the cluster cannot be called, in its own words.
type unusable struct{ error }

func (u *unusable) Unwrap() []error { return []error{u.error, backend.ErrUnusable} }

// Jobs is the directory of the user's jobs.
func (b *Backend) Jobs() string { return b.Layout.Jobs() }

// Lease is how long executors go on without a coordinator. The resource manager
// must notice that one is lost, find room for the next and start it.
const Lease = 15 * time.Minute

// Capabilities says what the cluster has at present. Nodes may come, so nothing
// is refused for its sake.
func (b *Backend) Capabilities(ctx context.Context) (plan.Capabilities, error) {
	c := plan.Capabilities{Backend: Name, Whole: true, Grow: true, Adopt: true, NodesMayCome: true, Images: true, Lease: Lease}
	if err := b.connect(); err != nil {
		return c, err
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	nodes, err := b.rm.Nodes(ctx)
	if err != nil {
		return c, b.unreachable(err)
	}
	for _, n := range nodes {
		size := hadoop.ResourceOf(n.GetCapability())
		c.Total.CPUs += float64(size.VCores)
		c.Total.Memory += size.Memory * mib
		c.Total.GPUs += int(size.Get(GPU))
		c.Largest.CPUs = max(c.Largest.CPUs, float64(size.VCores))
		c.Largest.Memory = max(c.Largest.Memory, size.Memory*mib)
		c.Largest.GPUs = max(c.Largest.GPUs, int(size.Get(GPU)))
	}
	return c, nil
}

// askTime bounds one question of a person who waits for the answer.
const askTime = 20 * time.Second

// unreachable says which cluster could not be asked.
func (b *Backend) unreachable(err error) error {
	return b.refusal(fmt.Errorf("yarn: the resource manager cannot be asked: %w", err))
}

// Check says everything that can be refused before submitting.
func (b *Backend) Check(ctx context.Context, p *plan.Plan) ([]plan.Finding, error) {
	if err := b.connect(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	c, err := b.look(ctx)
	if err != nil {
		return nil, err
	}
	s, _ := Decode(p)
	out := append(refuse(p, c, b.User), b.checkACLs(ctx, p, b.layout(s))...)
	out = append(out, checkFiles(ctx, b.fs, p, b.Conf.String("fs.defaultFS", ""))...)
	return append(out, b.checkKeytab(ctx, p, s)...), nil
}

// Render gives what would be submitted. What only a cluster knows stands in
// capital letters.
func (b *Backend) Render(p *plan.Plan) ([]backend.Artefact, error) {
	s, findings := Decode(p)
	if err := plan.Refuse(findings); err != nil {
		return nil, err
	}
	dir := b.layout(s).Job("JOB")
	file := func(name string) Resource { return Resource{Path: name} }
	am := &AM{Executor: file(b.layout(s).Blob("EXECUTOR")), Blobs: map[string]Resource{}}
	for _, sha := range blobsOf(p) {
		am.Blobs[sha] = file(b.layout(s).Blob(sha))
	}
	files := map[string]Resource{FileMuster: file(b.layout(s).Blob("MUSTER")), FileSite: file(b.layout(s).Blob("SITE")), FileAM: file(dir.AM(1))}
	out, err := artefact(nil, "application.json", applicationOf(p, s, s.Partitions(p), ""))
	if err == nil {
		out, err = artefact(out, "coordinator.json", coordinatorContainer(files, nil, p.ACLs).sketch(s.Coordinator))
	}
	for i := range p.Roles {
		if err == nil {
			r := &p.Roles[i]
			out, err = artefact(out, r.Name+".json", ExecutorContainer(am, s, p, r.Name, nil, nil).sketch(s.SizeOf(r)))
		}
	}
	return out, err
}

// layout is where the files of a job with these settings lie.
func (b *Backend) layout(s *Settings) Layout {
	return Layout{Root: cmp.Or(s.Dir, b.Layout.Root), Shared: cmp.Or(s.SharedDir, b.Layout.Shared)}
}

// broken is the file system of a cluster that cannot be reached.
type broken struct{ err error }

func hint(err error, format string, args ...any) error {
	return fmt.Errorf("%w\nhint: %s", err, strings.TrimSpace(fmt.Sprintf(format, args...)))
}
