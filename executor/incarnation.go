package executor

import (
	"context"
	"errors"
	"path/filepath"
	"strconv"
	"time"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/process"
	"github.com/muster-project/muster/wire"
)

// incarnation is one start of the task in this slot.
type incarnation struct {
	number int
	epoch  int
	phase  wire.Phase
	dir    string // MUSTER_DIR
	ports  *hold  // nil: none yet, or none any more
	told   map[string]int
	first  string        // name of the port on which readiness shows
	tree   *process.Tree // nil: none
	pids   []int
	ready  bool
	exit   *event.Exit // once phase is exited
	failed bool        // exit came of preparing: it answers Prepare, not Start

	starting bool               // between Start and the tree
	stopping *wire.Stop         // what was ordered; nil: nothing
	ours     bool               // the stop was the coordinator's wish
	cancel   context.CancelFunc // of preparing and starting
	warned   warned

	scene scene    // of the tree, for further commands in it
	calls []called // that wait for it to run, or to end

	usage    process.Usage
	progress *event.Progress // not yet told
}

// busy says that something of it may still run.
func (i *incarnation) busy() bool {
	return i.phase == wire.PhasePreparing || i.starting || i.tree != nil
}

func (i *incarnation) release() {
	if i.ports != nil {
		i.ports.close()
		i.ports = nil
	}
}

// open begins an incarnation: the executor prepares it in the background.
func (e *executor) open(ctx context.Context, p wire.Prepare) {
	e.now.release()
	ctx, cancel := context.WithCancel(ctx)
	e.now = incarnation{
		number: p.Incarnation, epoch: p.Epoch, phase: wire.PhasePreparing, cancel: cancel,
		dir: filepath.Join(e.Root, strconv.Itoa(p.Incarnation)), calls: e.now.calls,
	}
	e.hearCalls()
	e.now.first = first(p.Ports)
	e.changed()
	e.log.Info("preparing", "incarnation", p.Incarnation, "epoch", p.Epoch)
	dir := e.now.dir
	e.wg.Go(func() {
		ports, err := e.prepare(ctx, dir, p.Ports)
		if !e.tell(ctx, prepared{ports: ports, err: err}) && ports != nil {
			ports.close()
		}
	})
}

// prepared ends the preparing of an incarnation.
type prepared struct {
	ports *hold
	err   error
}

func (p prepared) apply(_ context.Context, e *executor) {
	i := &e.now
	switch {
	case i.stopping != nil:
		if p.ports != nil {
			p.ports.close()
		}
		e.exited(unstarted(i.stopping, i.ours))
	case p.err != nil:
		e.log.Error("not prepared", "error", p.err)
		i.failed = true
		e.exited(notStarted(p.err))
	default:
		i.phase, i.ports, i.told = wire.PhaseHeld, p.ports, p.ports.numbers()
		e.changed()
		e.answer()
	}
}

// notStarted is the exit of a task whose program nobody tried to run. Only a port
// was the program's to choose; all else was ours to make ready.
func notStarted(err error) event.Exit {
	x := event.Exit{Class: event.ClassPrepare, Status: 126, At: time.Now(), Text: err.Error()}
	if _, taken := errors.AsType[portError](err); taken {
		x.Class = event.ClassStart
	}
	return x
}

// start lets the incarnation run.
func (e *executor) start(ctx context.Context, s wire.Start) {
	i := &e.now
	i.starting = true
	if e.letGo && i.ports != nil {
		i.ports.letGo()
	}
	ctx, cancel := context.WithCancel(ctx)
	i.cancel = cancel
	dir := i.dir
	e.wg.Go(func() {
		tree, scene, err := e.launch(ctx, dir, s.Launch)
		if !e.tell(ctx, launched{tree: tree, scene: scene, err: err}) && tree != nil {
			tree.Stop(0, 0, true)
			<-tree.Done()
		}
	})
}

// launched ends the starting of an incarnation.
type launched struct {
	tree  *process.Tree
	scene scene
	err   error
}

func (l launched) apply(ctx context.Context, e *executor) {
	i := &e.now
	i.starting = false
	if l.err != nil {
		e.log.Error("not started", "error", l.err)
		if i.stopping != nil {
			e.exited(unstarted(i.stopping, i.ours))
			return
		}
		e.exited(notStarted(l.err))
		return
	}
	i.tree, i.scene, i.pids, i.phase = l.tree, l.scene, l.tree.PIDs(), wire.PhaseRunning
	e.changed()
	e.log.Info("started", "incarnation", i.number, "pids", i.pids)
	e.answer()
	e.hearCalls()
	if i.stopping != nil {
		e.stopTree(*i.stopping)
	}
	dir, tree, port, publish := i.dir, i.tree, i.told[i.first], i.scene.publish
	e.wg.Go(func() { e.attend(ctx, dir, tree, port, publish) })
	e.keep(ctx, i.number, dir)
}

// ended is the end of the tree, with all that its output says about it.
type ended struct {
	result process.Result
	report report
	stderr []string
	at     time.Time
}

func (d ended) apply(ctx context.Context, e *executor) {
	d.report.apply(ctx, e)
	i := &e.now
	i.usage = process.Usage{CPU: d.result.CPU}
	i.tree = nil
	x := verdict(d.result, d.stderr, e.Resources.Memory)
	x.At = d.at
	if port, held := clash(d.stderr, i.told); x.Failed() && port >= 0 {
		e.blame(&x, port, held)
	}
	switch {
	case i.stopping != nil && !i.ours && x.Stopped:
		// Nobody who judges the job asked for it: the slot is what failed.
		x.Stopped, x.Class, x.Text = false, event.ClassLost, i.stopping.Reason
	case i.stopping == nil:
		x.Stopped = false
	}
	e.sendBeat()
	e.exited(x)
}

// exited is the end of the current incarnation, told until acknowledged.
func (e *executor) exited(x event.Exit) {
	i := &e.now
	i.release()
	i.cancel()
	i.hush()
	i.phase, i.exit, i.starting, i.tree = wire.PhaseExited, &x, false, nil
	e.written(i.number)
	e.hearCalls()
	e.changed()
	e.log.Info("exited", "incarnation", i.number, "class", x.Class, "status", x.Status, "stopped", x.Stopped, "text", x.Text)
	e.answer()
}

// proceed does what waited for something else to end.
func (e *executor) proceed(ctx context.Context) {
	if e.next != nil && e.ending == nil && !e.now.busy() {
		p := *e.next
		e.next = nil
		e.open(ctx, p)
	}
}

// unstarted is the end of what was stopped before it ran.
func unstarted(s *wire.Stop, ours bool) event.Exit {
	x := event.Exit{Class: event.ClassCancelled, Stopped: ours, At: time.Now(), Text: "stopped before its start"}
	if !ours {
		x.Class = event.ClassLost
		if s != nil {
			x.Text = s.Reason
		}
	}
	return x
}
