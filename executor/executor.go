package executor

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"sync"
	"time"

	"github.com/muster-project/muster/process"
	"github.com/muster-project/muster/storage"
	"github.com/muster-project/muster/wire"
)

// Options is what the process gives the executor that runs in it.
type Options struct {
	Guardian []string     // command line of the guardian: this binary and its hidden verb
	Agent    []string     // command line by which a task's programs reach other tasks: likewise
	Log      *slog.Logger // nil: silent
	Version  string
	// Environ is the node's own environment: the last place in which an expanded
	// value looks for a variable. Tasks do not inherit it.
	Environ []string
	// Hold is kept open as long as anything of the slot lives: its claim.
	Hold []*os.File
	// FS is where Endpoints and Keep lie; nil: on this machine, and nothing is
	// kept elsewhere.
	FS storage.FS
	// Published is what the birth found out and the job should know.
	Published map[string]string
	// Credentials takes what FS is logged in to with from now on, and what the task
	// may use of it; it passes over a serial that is not newer than what it has.
	// nil: nothing of that kind wears out here.
	Credentials func(serial int64, data []byte) error
	// KeepTime is how long the end waits for logs to be kept; 0: ten seconds.
	KeepTime time.Duration
	// Limits of the link, for tests.
	Limits wire.Limits
}

// ErrLease says that an executor ended its tree because no coordinator was
// there for longer than the lease.
var ErrLease = errors.New("no coordinator")

// ErrTerminated says that somebody else ended the executor.
var ErrTerminated = errors.New("executor was told to end by a signal")

// executor is one life of one slot. All fields below the line belong to the
// loop, which is the only one to change them; goroutines tell it inputs.
//
//	         Prepare          done            Start            runs
//	idle ─────────→ preparing ────→ held ──────────→ (starting) ───→ running
//	                   │ failed      │ Stop               │ failed     │ tree ended
//	                   └─────────────┴──→ exited ←────────┴────────────┘
//	                                        │ Prepare of a later incarnation
//	                                        └──────────→ preparing
//
//	Prepare of a later incarnation while one runs stops that one first.
//	Quit, the lease, the end of ctx: (ending) stops what runs, then Run returns.
type executor struct {
	Context
	opt       Options
	log       *slog.Logger
	tls       *tls.Config
	host      string
	iface     func() string // the network interface that has host's address
	ctrl      string        // control address to announce
	secret    secret
	home      home
	in        chan input
	wake      chan struct{} // of size 1: the connector need not wait any longer
	unlinked  chan struct{} // of size 1: the looker need not either
	following chan struct{} // a token for each log being sent
	wg        sync.WaitGroup

	// ————

	conn    *wire.Conn
	seen    wire.Welcome  // the last one
	term    int64         // highest that was seen
	ahead   time.Duration // how far the coordinator's clock is before ours, by its welcome
	contact time.Time     // when a coordinator was last heard of
	dirOK   time.Time     // when the job directory was last read
	known   endpoint      // of the coordinator with the highest term that was heard of
	version int           // of the state that Hello shows

	now       incarnation
	next      *wire.Prepare     // waits until the current incarnation has ended
	letGo     bool              // a program could not bind its held port: the next one gets it free
	signalled map[string]string // answers to Signal requests, by request
	published map[string]string
	saver     *saver           // nil where nodes share their files
	keeping   []*keeping       // logs on their way to where they are kept
	keepEnd   <-chan time.Time // once nothing else holds us: when they are given up
	ending    error            // not nil: on the way out, and why
	quit      bool             // ending because it was told to

	beat  *time.Ticker
	lease *time.Timer
}

// input is one thing that a goroutine tells the loop.
type input interface {
	apply(ctx context.Context, e *executor)
}

// Run runs the executor of a slot until its coordinator tells it to quit (nil),
// the lease is over (ErrLease) or ctx is done (ErrTerminated). When it returns,
// nothing of its tree is left.
func Run(ctx context.Context, c Context, o Options) error {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	conf, err := wire.Executor(c.Authority, c.Cert, c.Key)
	if err != nil {
		return fmt.Errorf("start file: %w", err)
	}
	if err := process.Subreaper(); err != nil {
		return err
	}
	now := time.Now()
	e := &executor{
		Context: c, opt: o, tls: conf, in: make(chan input), wake: make(chan struct{}, 1), unlinked: make(chan struct{}, 1),
		following: make(chan struct{}, streams),
		known:     endpoint{Term: c.Term, Address: c.Address},
		log:       o.Log.With("job", c.Job, "task", c.Task.String(), "slot", c.Slot),
		term:      c.Term, contact: now, dirOK: now,
		now:       incarnation{phase: wire.PhaseIdle},
		signalled: map[string]string{}, published: map[string]string{},
		beat: time.NewTicker(time.Hour), lease: time.NewTimer(time.Hour),
	}
	maps.Copy(e.published, o.Published)
	e.saver = newSaver(e)
	defer e.beat.Stop()
	defer e.lease.Stop()
	e.host = hostFor(c.Host, c.Address)
	e.iface = sync.OnceValue(func() string { return ifaceOf(e.host) })

	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer e.wg.Wait()
	defer cancel()
	if err := e.listen(inner); err != nil {
		return err
	}
	e.wg.Go(func() { (&connector{e: e}).run(inner) })
	if c.Endpoints != "" {
		e.wg.Go(func() { e.look(inner) })
	}
	return e.loop(ctx, inner)
}

// listen opens the control port.
func (e *executor) listen(ctx context.Context) error {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(bindHost(e.host), "0"))
	if err != nil {
		return fmt.Errorf("control port: cannot listen on %s: %w", e.host, err)
	}
	_, port, err := net.SplitHostPort(ln.Addr().String())
	if err != nil {
		return fmt.Errorf("control port: %w", err)
	}
	conf, err := wire.Control(e.Authority, e.Cert, e.Key)
	if err != nil {
		return fmt.Errorf("start file: %w", err)
	}
	e.ctrl = net.JoinHostPort(e.host, port)
	e.wg.Go(func() {
		err := wire.ServeControl(ctx, ln, conf, e.log, wire.Controlled{
			Told: func(term int64, address string) {
				e.tell(ctx, nudged{endpoint{Term: term, Address: address}})
			},
			Called: e.serveCall,
		})
		if err != nil {
			e.log.Error("control port lost; a new coordinator must be found in the job directory", "error", err)
		}
	})
	return nil
}

// loop runs until nothing is left to do. inner is the context of everything
// that it starts; outer is the wish of the process to end.
func (e *executor) loop(outer, inner context.Context) error {
	e.arm()
	done := outer.Done()
	for !e.over() {
		select {
		case in := <-e.in:
			in.apply(inner, e)
		case <-e.beat.C:
			e.sendBeat()
		case <-e.lease.C:
			e.expire()
		case <-e.keepEnd:
			e.giveUp()
		case <-done:
			done = nil
			e.end(fmt.Errorf("%w: %w", ErrTerminated, context.Cause(outer)))
		}
		e.proceed(inner)
		e.boundKeeping()
	}
	e.now.release()
	if e.conn != nil {
		_ = e.conn.Close() // writes what is queued: the last Exited
	}
	if e.quit {
		return nil
	}
	return e.ending
}

// tell hands an input to the loop; false: the loop has ended.
func (e *executor) tell(ctx context.Context, in input) bool {
	select {
	case e.in <- in:
		return true
	case <-ctx.Done():
		return false
	}
}

// over says that the executor may leave: it was to end, nothing runs, and the
// logs are kept.
func (e *executor) over() bool { return e.ending != nil && !e.now.busy() && len(e.keeping) == 0 }

// end begins the end: what runs is stopped, and then Run returns.
func (e *executor) end(why error) {
	if e.ending != nil {
		return
	}
	e.log.Info("ending", "reason", why)
	e.ending, e.next = why, nil
	e.hurry()
	e.stop(wire.Stop{Incarnation: e.now.number, Reason: why.Error()}, e.quit)
}

// changed notes that Hello would say something else now.
func (e *executor) changed() { e.version++ }

// send tells the coordinator, if there is one. What is lost with a link is told
// again by the Hello of the next one.
func (e *executor) send(m wire.Message) {
	if e.conn == nil {
		return
	}
	if err := e.conn.Send(m); err != nil {
		e.log.Warn("message not sent", "error", err)
	}
}
