package coordinator

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"path"
	"time"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/executor"
	"github.com/muster-project/muster/session"
	"github.com/muster-project/muster/wire"
)

// act does everything pending that was not done yet: what goes to the gang once
// a term, what goes to an executor once a connection.
func (k *coordinator) act(ctx context.Context, address string) error {
	var starts []backend.Start
	for _, a := range k.session.Pending() {
		key := a.Key()
		if slot, ok := addressee(a); ok {
			if !k.links.sent(slot, key) { // else it need not be computed again
				k.links.send(slot, key, k.directive(a))
			}
			continue
		}
		if k.done[key] {
			continue
		}
		k.done[key] = true
		switch a := a.(type) {
		case session.Request:
			if err := k.gang.Request(ctx, k.request(a)); err != nil {
				return fmt.Errorf("slots cannot be asked for: %w", err)
			}
		case session.Launch:
			st, err := k.startOf(a.Slot, address)
			if err != nil {
				k.in.put(session.Launched{Slot: a.Slot.Slot, Err: err.Error()})
				continue
			}
			if starts = append(starts, st); len(starts) == launchMost {
				if err := k.launch(ctx, starts); err != nil {
					return err
				}
				starts = nil
			}
		case session.Release:
			// The gang first: an executor that quits before the gang expects it is lost.
			if err := k.gang.Release(ctx, []string{a.Slot}, a.Now); err != nil {
				return fmt.Errorf("%s: cannot be released: %w", a.Slot, err)
			}
			if !a.Now {
				k.links.send(a.Slot, key, wire.Directive{Quit: &wire.Quit{Reason: "released"}})
			}
		}
	}
	return k.launch(ctx, starts)
}

// launchMost is how many executors are handed to the gang together: the first
// ones are on their way while the certificates of the others are made.
const launchMost = 256

func (k *coordinator) launch(ctx context.Context, starts []backend.Start) error {
	if len(starts) == 0 {
		return nil
	}
	if err := k.gang.Launch(ctx, starts); err != nil {
		return fmt.Errorf("executors cannot be started: %w", err)
	}
	return nil
}

func (k *coordinator) request(a session.Request) backend.Request {
	r := backend.Request{Number: a.Number, Minimum: a.Minimum}
	for _, id := range a.Tasks {
		r.Asks = append(r.Asks, backend.Ask{Task: id, Resources: k.session.Plan().Role(id.Role).Resources})
	}
	return r
}

// addressee is the slot of the executor that an action goes to, if it goes to one.
func addressee(a session.Action) (string, bool) {
	switch a := a.(type) {
	case session.Prepare:
		return a.Slot, true
	case session.Start:
		return a.Slot, true
	case session.StopTask:
		return a.Slot, true
	case session.Preempt:
		return a.Slot, true
	case session.SendSignal:
		return a.Slot, true
	}
	return "", false
}

// directive is what an action says to its executor; nothing if it cannot be said.
func (k *coordinator) directive(a session.Action) wire.Directive {
	switch a := a.(type) {
	case session.Prepare:
		return wire.Directive{Prepare: &wire.Prepare{Incarnation: a.Incarnation, Epoch: a.Epoch,
			Ports: k.session.Plan().Role(a.Task.Role).Ports}}
	case session.Start:
		l, err := k.fw.Launch(k.session.Plan(), a.Roster, a.Task)
		if err != nil {
			k.in.put(session.Exited{Slot: a.Slot, Incarnation: a.Incarnation, Exit: event.Exit{Class: event.ClassInternal,
				Status: 70, At: time.Now(), Text: fmt.Sprintf("framework %s: %v", k.fw.Name(), err)}})
			return wire.Directive{}
		}
		return wire.Directive{Start: &wire.Start{Incarnation: a.Incarnation, Epoch: a.Roster.Epoch, Launch: l}}
	case session.StopTask:
		return wire.Directive{Stop: &wire.Stop{Incarnation: a.Incarnation, Grace: a.Grace, Now: a.Now, Reason: a.Reason}}
	case session.Preempt:
		return wire.Directive{Preempt: &wire.Preempt{Incarnation: a.Incarnation, Signal: a.Signal, Before: a.Before, Deadline: a.Deadline,
			Reason: a.Reason}}
	case session.SendSignal:
		return wire.Directive{Signal: &wire.Signal{Request: a.Request, Incarnation: a.Incarnation, Signal: a.Signal}}
	}
	return wire.Directive{}
}

// startOf is what the executor of a slot is born with.
func (k *coordinator) startOf(g event.SlotGranted, address string) (backend.Start, error) {
	cert, key, err := k.authority.Issue(g.Task)
	if err != nil {
		return backend.Start{}, err
	}
	p := k.session.Plan()
	role := p.Role(g.Task.Role)
	c := executor.Context{Job: p.ID, Slot: g.Slot, Task: g.Task, Term: k.term,
		Endpoints: k.path("endpoint"), Address: address, Authority: k.authority.Certificate(), Cert: cert, Key: key,
		Root: k.taskDir(g.Task), Checkpoint: k.path("checkpoint"), Blobs: k.Blobs,
		Work: p.Work, Python: p.Python, Logs: p.Logs, Progress: role.Progress, Environ: k.environ, Umask: k.sub.Umask,
		Resources: g.Resources, Devices: g.Devices, CPUSet: g.CPUSet, Lease: p.Timing.Lease, Grace: role.StopGrace}
	if k.Cgroup != "" {
		c.Cgroup = path.Join(k.Cgroup, p.ID, g.Slot)
	}
	if k.Birth != nil {
		k.Birth(&c)
	}
	data, err := json.Marshal(c)
	if err != nil {
		return backend.Start{}, err
	}
	return backend.Start{Slot: slotOf(g, nil), Context: data}, nil
}

// nudge tells the executors that the journal knows where this coordinator is,
// so that they need not look for it. One that cannot be told looks by itself.
func (k *coordinator) nudge(ctx context.Context, conf *tls.Config, controls []string, address string) {
	for _, control := range controls {
		ctx, cancel := context.WithTimeout(ctx, nudgeTime)
		if err := wire.Nudge(ctx, control, conf, k.term, address); err != nil {
			k.Log.Debug("executor was not told of this coordinator", "control", control, "error", err)
		}
		cancel()
	}
}

// nudgeTime bounds the telling of one executor: most that do not answer are dead.
const nudgeTime = 2 * time.Second

// quitStrangers ends executors whose slot the job does not know any more.
func (k *coordinator) quitStrangers(inputs []session.Input) {
	for _, in := range inputs {
		if l, ok := in.(session.Linked); ok && !k.session.Holds(l.Slot) {
			k.Log.Warn("executor of a slot that is not ours any more", "slot", l.Slot, "task", l.Task)
			k.links.send(l.Slot, "quit", wire.Directive{Quit: &wire.Quit{Reason: "the slot is not part of the job any more"}})
		}
	}
}

func environ(list []string) map[string]string {
	out := make(map[string]string, len(list))
	for _, kv := range list {
		for i := range kv {
			if kv[i] == '=' && i > 0 {
				out[kv[:i]] = kv[i+1:]
				break
			}
		}
	}
	return out
}
