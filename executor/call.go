package executor

import (
	"context"
	"fmt"
	"slices"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/process"
	"github.com/muster-project/muster/wire"
)

// Others of the job call on the control port: to run a command in the task's
// tree, or to be told when the task has ended. A call for an incarnation that is
// about to run waits for it: the tasks of a roll call start at about the same
// time, not in the same moment.

// serveCall asks the loop what becomes of a call, and does it.
func (e *executor) serveCall(ctx context.Context, s *wire.Stream, c wire.Call) {
	ask := called{Call: c, answer: make(chan answered, 1)}
	if !e.tell(ctx, ask) {
		s.Abort()
		return
	}
	select {
	case a := <-ask.answer:
		switch {
		case a.refused != "":
			s.Refuse(fmt.Sprintf("%s: %s", e.Task, a.refused))
		case a.exit != nil:
			_ = s.Finish(wire.Flow{Exit: a.exit}) // a caller that has gone needs no answer
		default:
			e.attached(ctx, s, c, a)
		}
	case <-ctx.Done():
		s.Abort()
	}
}

// called is a call on its way through the loop.
type called struct {
	wire.Call
	answer chan answered // of size 1
}

// answered is what the loop says to a call: a refusal, the end that was waited
// for, or the tree in which to run the command.
type answered struct {
	refused string
	exit    *event.Exit
	tree    *process.Tree
	scene   scene
}

// scene is what a task's processes were started with.
type scene struct {
	env     []string
	work    string
	publish map[string]string // once it is ready
}

func (c called) apply(_ context.Context, e *executor) { e.take(c) }

// take answers a call, or keeps it until it can be answered.
func (e *executor) take(c called) {
	i := &e.now
	if c.Incarnation == 0 {
		c.Incarnation = i.number
	}
	over := c.Incarnation < i.number || i.phase == wire.PhaseExited
	switch wait := len(c.Argv) == 0; {
	case c.Incarnation > i.number, i.phase == wire.PhaseIdle:
		c.answer <- answered{refused: fmt.Sprintf("incarnation %d is not here", c.Incarnation)}
	case over && wait && c.Incarnation == i.number:
		c.answer <- answered{exit: i.exit}
	case over:
		c.answer <- answered{refused: fmt.Sprintf("incarnation %d has ended", c.Incarnation)}
	case !wait && i.tree != nil:
		c.answer <- answered{tree: i.tree, scene: i.scene}
	default:
		e.log.Debug("call waits", "incarnation", c.Incarnation, "phase", i.phase)
		i.calls = append(i.calls, c)
	}
}

// hearCalls answers those that waited for the incarnation to run, or to end.
func (e *executor) hearCalls() {
	calls := e.now.calls
	e.now.calls = nil
	for _, c := range calls {
		e.take(c)
	}
}

// attachedExit puts the end of a further process into the words of an exit.
func attachedExit(p process.Exit) event.Exit {
	x := verdict(process.Result{First: -1, Procs: []process.Exit{p}}, nil, 0)
	x.Stopped, x.Symptom = false, false
	return x
}

// overlay gives env with some variables replaced or added.
func overlay(env []string, with map[string]string) []string {
	out := slices.Clone(env)
	for name, value := range with {
		at := slices.IndexFunc(out, func(v string) bool { _, ok := variable([]string{v}, name); return ok })
		if at < 0 {
			out = append(out, name+"="+value)
		} else {
			out[at] = name + "=" + value
		}
	}
	return out
}
