// Package coordinator drives one job: a job directory and a backend's slots
// come in, the job's journal comes out, and executors do in between what the
// session decided.
//
//	mailbox ┐                     ┌▶ journal (acknowledged first)
//	gang    ├▶ inputs ▶ loop ▶ session ▶ events
//	links   ┘                     └▶ Pending ▶ gang, links
//
// One loop owns the session. Everything else sends it inputs and never waits
// for it: links answer beats by themselves while the journal waits for a disk.
package coordinator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/muster-project/muster/access"
	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/executor"
	"github.com/muster-project/muster/framework"
	"github.com/muster-project/muster/history"
	"github.com/muster-project/muster/internal/frugal"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/session"
	"github.com/muster-project/muster/storage"
	"github.com/muster-project/muster/wire"
)

// Config is all that a coordinator is told.
type Config struct {
	Dir       string // the job's directory
	Blobs     string // content-addressed archives and files, as executors read them
	FS        storage.FS
	Gang      backend.Opener
	Framework func(name string) (framework.Framework, error)
	// Listen is where executors connect, "127.0.0.1:0" on one machine; Host is
	// the name that they are given for it, if not the address itself.
	Listen string
	Host   string
	// Cgroup is the level below which tasks' cgroups are made, on machines that
	// are ours to divide; empty where a resource manager has put us into its own.
	Cgroup string
	// Birth changes what an executor is born with where it is not born on this
	// machine's file system.
	Birth func(*executor.Context)
	// Credentials is where executors get what they log in to storage with once what
	// they were started with wears out; nil where it does not.
	Credentials Credentials
	// Access is who may act on the job by letters in its mailbox; the plan's own
	// word where its owner is empty. Groups tells what groups a person is of.
	Access access.Rule
	Groups func(ctx context.Context, user string) ([]string, error)
	// MailEvery is how often the mailbox is looked into; 0 takes what suits a
	// file system of this machine.
	MailEvery time.Duration
	// Page serves people until ctx is done, where a resource manager shows them
	// the way to this process.
	Page    func(ctx context.Context, l *Live) error
	PageURL string // where that is
	PageKey string // what lets in who brings it
	Version string
	Log     *slog.Logger
}

// ErrSuperseded says that a coordinator with a higher term has the job. Nothing
// of the job was touched after that became known.
var ErrSuperseded = backend.ErrSuperseded

// ErrAside says that this coordinator left so that another job's gang can be
// complete. The job goes on when it is submitted again.
var ErrAside = errors.New("stepped aside for another gang")

// Run drives the job in the directory to its end, or until ctx is done or
// another coordinator takes over; in both of these cases tasks go on running.
func Run(ctx context.Context, c Config) error {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	sub, err := readSubmission(ctx, c.FS, c.Dir)
	if err != nil {
		return err
	}
	if c.Access.Owner == "" {
		c.Access = access.Rule{Owner: sub.Plan.User, ACLs: sub.Plan.ACLs}
	}
	k, err := open(ctx, c, sub)
	if errors.Is(err, history.ErrFinished) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = k.journal.Close() }() // what was acknowledged stays
	c.Log = c.Log.With("job", k.session.Plan().ID, "term", k.term)
	k.Log = c.Log
	err = k.run(ctx)
	if errors.Is(err, history.ErrSuperseded) || errors.Is(err, wire.ErrSuperseded) {
		return fmt.Errorf("%s: %w", c.Dir, ErrSuperseded)
	}
	return err
}

// coordinator is one term of a job.
type coordinator struct {
	Config
	sub       backend.Submission
	environ   map[string]string // the submitter's, which no executor changes
	authority *wire.Authority
	fw        framework.Framework
	journal   *history.Journal
	term      int64 // the journal's when it was opened; it may go on in a later segment of its own
	session   *session.Session
	gang      backend.Gang
	links     *links
	in        *inbox
	mail      mail
	mu        sync.Mutex      // held while the session changes, and by who looks at it from outside the loop
	thought   time.Duration   // how long the last round's decisions took
	done      map[string]bool // actions of this term, by key; of links: per connection
}

// open takes the job over: after it, no other coordinator's facts count.
func open(ctx context.Context, c Config, sub backend.Submission) (*coordinator, error) {
	node, err := os.Hostname()
	if err != nil {
		node = "unknown"
	}
	owner := history.Owner{Node: node, PID: os.Getpid(), Version: c.Version}
	journal, events, err := history.Open(ctx, c.FS, c.Dir, owner, time.Now())
	if err != nil {
		return nil, err
	}
	k := &coordinator{Config: c, sub: sub, environ: environ(sub.Environ), journal: journal, term: journal.Term(), in: newInbox(), done: map[string]bool{}}
	if err := k.replay(ctx, events); err != nil {
		return nil, errors.Join(err, journal.Close())
	}
	return k, nil
}

// replay brings the session to where the journal stands. The first coordinator
// of a job writes down what was submitted.
func (k *coordinator) replay(ctx context.Context, events []event.Event) error {
	submitted := false
	for _, e := range events {
		_, is := e.Body.(*event.JobSubmitted)
		submitted = submitted || is
	}
	name := k.sub.Plan.Framework
	fw, err := k.Framework(name)
	if err != nil {
		return err
	}
	k.fw = fw
	opt := session.Options{}
	if r, ok := fw.(framework.Readier); ok {
		opt.Ready = r.Ready
	}
	k.session = session.New(opt)
	if !submitted {
		first := session.Submit(k.sub.Plan, k.sub.Plan.User, "", time.Now())
		batch := []event.Event{first}
		if err := k.append(ctx, batch); err != nil {
			return err
		}
		events = append(events, batch...)
	}
	for _, e := range events {
		k.session.Evolve(e)
	}
	return nil
}

func (k *coordinator) run(ctx context.Context) error {
	var err error
	if k.authority, err = readAuthority(ctx, k.FS, k.Dir, k.session.Plan().ID); err != nil {
		return err
	}
	conf, err := k.authority.Coordinator()
	if err != nil {
		return err
	}
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", k.Listen)
	if err != nil {
		return fmt.Errorf("%s: executors cannot be listened for: %w", k.Listen, err)
	}
	address := announced(ln.Addr(), k.Host)
	if err := writeEndpoint(ctx, k.FS, k.Dir, Endpoint{k.term, address, k.PageURL, k.PageKey}); err != nil {
		return errors.Join(err, ln.Close())
	}
	k.links = newLinks(k.session, k.term, k.in)
	srv := &wire.Server{TLS: conf, Handler: k.links, Log: k.Log, Binary: k.Version}

	if k.gang, err = k.Gang.Open(ctx, k.session.Plan(), k.term, known(k.session)); err != nil {
		return errors.Join(err, ln.Close())
	}
	k.Log.Info("coordinator is ready", "address", address, "events", k.session.Seq())

	var controls []string
	for _, sl := range k.session.Slots() {
		if sl.Control != "" {
			controls = append(controls, sl.Control)
		}
	}
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	g, inner := errgroup.WithContext(inner)
	g.Go(func() error { return srv.Serve(inner, ln) })
	g.Go(func() error { k.hear(inner); return nil })
	g.Go(func() error { k.watchMail(inner); return nil })
	g.Go(func() error { k.links.watch(inner); return nil })
	if k.Credentials != nil {
		g.Go(func() error { k.links.supply(inner, k.Credentials); return nil })
	}
	if n := len(k.session.Plan().Tasks()); n >= large {
		g.Go(func() error { frugal.Room(inner, int64(n)*perTask); return nil })
	}
	g.Go(func() error { k.nudge(inner, conf, controls, address); return nil })
	if k.Page != nil {
		g.Go(func() error { return k.Page(inner, &Live{k, srv}) })
	}
	g.Go(func() error { defer cancel(); return k.loop(ctx, inner, address) })
	return g.Wait()
}

// A job of as many tasks is large: its coordinator holds about as much memory for
// each, most of it for the connection, and need not count every byte before.
const (
	large   = 100
	perTask = 22 << 10
)

// known turns the journal's slots into the gang's.
func known(s *session.Session) []backend.Slot {
	var out []backend.Slot
	for _, sl := range s.Slots() {
		out = append(out, slotOf(sl.SlotGranted, sl.Native))
	}
	return out
}

func slotOf(g event.SlotGranted, native []byte) backend.Slot {
	return backend.Slot{ID: g.Slot, Request: g.Request, Task: g.Task, Node: g.Node, Rack: g.Rack,
		Resources: g.Resources, Devices: g.Devices, CPUSet: g.CPUSet, Native: native}
}

// announced is the listener's address with the host that executors are given.
func announced(a net.Addr, host string) string {
	h, port, err := net.SplitHostPort(a.String())
	if err != nil || host == "" {
		host = h
	}
	return net.JoinHostPort(host, port)
}

// Path of the job's parts, below its directory.
func (k *coordinator) path(parts ...string) string {
	return path.Join(append([]string{k.Dir}, parts...)...)
}

// taskDir is the directory of all incarnations of a task.
func (k *coordinator) taskDir(id plan.TaskID) string {
	return k.path("tasks", id.Dir())
}
