package executor

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/wire"
)

// directive is one order of the coordinator. It may come late or twice: what it
// names is compared with what is, and only a step forward is taken.
type directive struct {
	conn *wire.Conn
	wire.Directive
}

func (d directive) apply(ctx context.Context, e *executor) {
	if d.conn != e.conn {
		return // of a link that has been left
	}
	switch {
	case d.Credentials != nil:
		e.onCredentials(*d.Credentials) // logs are kept until the very end
	case e.ending != nil:
		// The end is on its way; only a kill can hasten it.
		if d.Stop != nil && d.Stop.Now || d.Quit != nil {
			e.quit = e.quit || d.Quit != nil
			e.stop(wire.Stop{Incarnation: e.now.number, Now: d.Stop != nil}, e.now.ours)
		}
	case d.Prepare != nil:
		e.onPrepare(ctx, *d.Prepare)
	case d.Start != nil:
		e.onStart(ctx, *d.Start)
	case d.Stop != nil:
		e.onStop(*d.Stop)
	case d.Signal != nil:
		e.onSignal(ctx, *d.Signal)
	case d.Preempt != nil:
		e.onPreempt(ctx, *d.Preempt)
	case d.OpenLog != nil:
		e.openLog(ctx, *d.OpenLog)
	case d.Quit != nil:
		e.quit = true
		e.end(fmt.Errorf("coordinator says: %s", d.Quit.Reason))
	}
}

// onCredentials hands on what storage is logged in to with from now on.
func (e *executor) onCredentials(c wire.Credentials) {
	if e.opt.Credentials == nil {
		return
	}
	if err := e.opt.Credentials(c.Serial, c.Data); err != nil {
		e.log.Error("new credentials cannot be used", "serial", c.Serial, "error", err)
		return
	}
	e.log.Info("credentials", "serial", c.Serial)
}

func (e *executor) onPrepare(ctx context.Context, p wire.Prepare) {
	switch {
	case p.Incarnation < e.now.number:
	case p.Incarnation == e.now.number:
		e.answer()
	case e.next != nil && p.Incarnation <= e.next.Incarnation:
	case e.now.busy():
		e.next = &p
		e.stop(wire.Stop{Incarnation: e.now.number, Reason: "a later incarnation is to be prepared"}, true)
	default:
		e.open(ctx, p)
	}
}

func (e *executor) onStart(ctx context.Context, s wire.Start) {
	i := &e.now
	switch {
	case s.Incarnation != i.number || i.starting:
	case i.phase == wire.PhaseHeld:
		e.start(ctx, s)
	default:
		e.answer()
	}
}

func (e *executor) onStop(s wire.Stop) {
	switch {
	case s.Incarnation < e.now.number:
	case s.Incarnation == e.now.number:
		e.stop(s, true)
	case e.next != nil && e.next.Incarnation == s.Incarnation, !e.now.busy():
		// It was never prepared here: it has ended before it began, and a Prepare
		// that comes late finds it so.
		e.next = nil
		if e.now.busy() {
			return
		}
		e.now.release()
		e.now = incarnation{number: s.Incarnation, cancel: func() {}, calls: e.now.calls}
		e.exited(unstarted(&s, true))
	}
}

// stop ends the current incarnation, wherever it is. ours says that the
// coordinator wanted it, so that its end is no failure of the slot.
func (e *executor) stop(s wire.Stop, ours bool) {
	i := &e.now
	if s.Grace == 0 {
		s.Grace = time.Duration(e.Grace)
	}
	if i.stopping == nil {
		i.ours = ours
	}
	i.stopping = &s
	switch {
	case i.phase == wire.PhaseIdle:
	case i.phase == wire.PhaseExited:
		e.answer()
	case i.phase == wire.PhasePreparing:
		i.cancel() // the preparer tells when it has come to its end
	case i.starting: // as soon as the tree is there
	case i.phase == wire.PhaseHeld:
		e.exited(unstarted(&s, ours))
	case i.tree != nil:
		e.stopTree(s)
	}
}

// stopTree tells the guardian.
func (e *executor) stopTree(s wire.Stop) {
	i := &e.now
	e.log.Info("stopping", "incarnation", i.number, "reason", s.Reason, "grace", s.Grace, "now", s.Now)
	sig := syscall.SIGTERM
	if n := signalNumber(s.Signal); n != 0 {
		sig = n
	}
	i.tree.Stop(sig, s.Grace, s.Now)
}

// signals remembered to answer a repeated request without a second signal.
const signals = 256

func (e *executor) onSignal(ctx context.Context, s wire.Signal) {
	if text, known := e.signalled[s.Request]; known {
		if text != pending {
			e.send(wire.Message{Signalled: &wire.Signalled{Request: s.Request, Error: text}})
		}
		return
	}
	if len(e.signalled) >= signals {
		clear(e.signalled)
	}
	e.signalled[s.Request] = pending
	i, sig := &e.now, signalNumber(s.Signal)
	answer := func(text string) { signalDone{s.Request, text}.apply(ctx, e) }
	switch {
	case sig == 0:
		answer(fmt.Sprintf("%s: no such signal", s.Signal))
	case s.Incarnation != i.number || i.tree == nil:
		answer(fmt.Sprintf("incarnation %d does not run", s.Incarnation))
	default:
		tree := i.tree
		e.wg.Go(func() {
			text := ""
			if err := tree.Signal(sig); err != nil {
				text = err.Error()
			}
			e.tell(ctx, signalDone{s.Request, text})
		})
	}
}

// pending is the answer to a signal that is still on its way.
const pending = "\x00"

type signalDone struct{ request, text string }

func (s signalDone) apply(_ context.Context, e *executor) {
	e.signalled[s.request] = s.text
	e.send(wire.Message{Signalled: &wire.Signalled{Request: s.request, Error: s.text}})
}

// signalNumber reads TERM and SIGTERM; 0 is no signal.
func signalNumber(name string) syscall.Signal {
	name = strings.ToUpper(name)
	if !strings.HasPrefix(name, "SIG") {
		name = "SIG" + name
	}
	return unix.SignalNum(name)
}

// answer tells where the current incarnation is: the same words for the first
// time and for every repeated directive.
func (e *executor) answer() {
	i := &e.now
	switch i.phase {
	case wire.PhaseHeld:
		e.send(wire.Message{Registered: e.registered()})
	case wire.PhaseRunning:
		e.send(wire.Message{Registered: e.registered()})
		e.send(wire.Message{Started: &wire.Started{Incarnation: i.number, PIDs: i.pids}})
		if i.ready {
			e.send(wire.Message{Ready: &wire.Ready{Incarnation: i.number}})
		}
	case wire.PhaseExited:
		if i.failed {
			r := e.registered()
			r.Exit = i.exit
			e.send(wire.Message{Registered: r})
			return
		}
		e.send(wire.Message{Exited: &wire.Exited{Incarnation: i.number, Exit: *i.exit}})
	case wire.PhaseIdle, wire.PhasePreparing:
	}
}

func (e *executor) registered() *wire.Registered {
	return &wire.Registered{Incarnation: e.now.number, Host: e.host, Ports: e.now.told}
}

func (e *executor) hello() wire.Hello {
	i := &e.now
	h := wire.Hello{
		Job: e.Job, Slot: e.Slot, Task: e.Task, Binary: e.opt.Version, Control: e.ctrl, Host: e.host, PID: os.Getpid(),
		Term: e.term, Incarnation: i.number, Phase: i.phase, Ports: i.told, PIDs: i.pids, Ready: i.ready,
	}
	if i.exit != nil {
		h.Exit = new(event.Exit)
		*h.Exit = *i.exit
	}
	return h
}
