package fake

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/executor"
	"github.com/muster-project/muster/wire"
)

// player is a scripted executor: it speaks the real protocol and plays the
// command line of its task instead of running it.
type player struct {
	cluster *Cluster
	conf    executor.Context
	quit    bool // it was told to end

	mu    sync.Mutex
	state wire.Hello
	conn  *wire.Conn
	last  *wire.Exited // of an earlier incarnation

	play   context.CancelFunc // ends the script of the current incarnation
	script Script             // of it
	saved  bool               // it ended because it was told of a preemption
	played sync.WaitGroup
}

// run connects, and connects again, until it is told to quit or ctx is done.
func (x *player) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer x.played.Wait()
	defer cancel()
	x.state = wire.Hello{Job: x.conf.Job, Slot: x.conf.Slot, Task: x.conf.Task, Phase: wire.PhaseIdle, Host: "127.0.0.1"}
	conf, err := wire.Executor(x.conf.Authority, x.conf.Cert, x.conf.Key)
	if err != nil {
		return
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		x.mu.Lock()
		hello := x.state
		x.mu.Unlock()
		conn, _, err := wire.Dial(ctx, x.address(), conf, hello)
		if err == nil {
			x.mu.Lock()
			x.conn = conn
			if x.state.Exit != nil && hello.Exit == nil { // it ended while we said hello
				_ = conn.Send(wire.Message{Exited: &wire.Exited{Incarnation: x.state.Incarnation, Exit: *x.state.Exit}})
			}
			x.mu.Unlock()
			stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
			done := x.obey(ctx, conn)
			stop()
			_ = conn.Close()
			if done {
				return
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// address is the newest coordinator's.
func (x *player) address() string {
	address := x.conf.Address
	entries, _ := os.ReadDir(x.conf.Endpoints)
	for _, e := range entries { // in the order of their terms
		var at struct{ Address string }
		text, err := os.ReadFile(filepath.Join(x.conf.Endpoints, e.Name()))
		if err == nil && json.Unmarshal(text, &at) == nil && at.Address != "" {
			address = at.Address
		}
	}
	return address
}

// obey follows directives until the connection ends; true means to quit.
func (x *player) obey(ctx context.Context, conn *wire.Conn) bool {
	beat := time.NewTicker(time.Second)
	defer beat.Stop()
	var beats sync.WaitGroup
	done := make(chan struct{})
	beats.Go(func() {
		for {
			select {
			case <-beat.C:
				_ = conn.Send(wire.Message{Beat: &wire.Beat{Sent: time.Now()}})
			case <-done:
				return
			}
		}
	})
	defer beats.Wait()
	defer close(done)
	for {
		d, err := conn.Recv()
		if err != nil {
			return false
		}
		switch {
		case d.Prepare != nil:
			x.prepare(d.Prepare)
		case d.Start != nil:
			x.start(ctx, d.Start)
		case d.Stop != nil && d.Stop.Incarnation == x.now():
			x.stop(d.Stop)
		case d.Preempt != nil && d.Preempt.Incarnation == x.now():
			x.preempt(d.Preempt)
		case d.Signal != nil:
			_ = conn.Send(wire.Message{Signalled: &wire.Signalled{Request: d.Signal.Request}})
		case d.Quit != nil:
			x.quit = true
			return true
		}
	}
}

func (x *player) now() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.state.Incarnation
}

func (x *player) prepare(p *wire.Prepare) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if p.Incarnation > x.state.Incarnation {
		if x.state.Exit != nil {
			x.last = &wire.Exited{Incarnation: x.state.Incarnation, Exit: *x.state.Exit}
		}
		x.state.Incarnation, x.state.Phase, x.state.Exit, x.state.Ready = p.Incarnation, wire.PhaseHeld, nil, false
		x.state.Ports = map[string]int{}
		for i, port := range p.Ports {
			x.state.Ports[port.Name] = 20000 + 100*p.Incarnation + i
		}
	}
	r := &wire.Registered{Incarnation: x.state.Incarnation, Host: "127.0.0.1", Ports: x.state.Ports}
	if x.cluster.Defect == StaleAnswers && r.Incarnation > 1 {
		r.Incarnation--
		x.state.Phase = wire.PhaseIdle
	}
	_ = x.conn.Send(wire.Message{Registered: r})
}

func (x *player) start(ctx context.Context, s *wire.Start) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if s.Incarnation != x.state.Incarnation || x.state.Phase != wire.PhaseHeld {
		return
	}
	x.state.Phase = wire.PhaseRunning
	_ = x.conn.Send(wire.Message{Started: &wire.Started{Incarnation: s.Incarnation, PIDs: []int{1}}})
	if x.last != nil { // an exit that is told again, late
		again := *x.last
		if x.cluster.Defect == RepeatsExits {
			again.Incarnation = s.Incarnation
		}
		_ = x.conn.Send(wire.Message{Exited: &again})
	}
	script := Parse(s.Launch.Argv)
	playing, cancel := context.WithCancel(ctx)
	x.play, x.script, x.saved = cancel, script, false
	x.played.Go(func() {
		defer cancel()
		exit := script.Play(playing, s.Incarnation, func(line string) { x.cluster.print(x.conf.Job, x.conf.Task, line) })
		x.mu.Lock()
		if x.saved {
			exit = event.Exit{Class: event.ClassExit, Status: 75}
		}
		x.mu.Unlock()
		if playing.Err() == nil || ctx.Err() == nil {
			x.exit(s.Incarnation, exit)
		}
	})
}

// preempt is the word that the slot will be taken away.
func (x *player) preempt(p *wire.Preempt) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.state.Phase == wire.PhaseRunning && !p.Deadline.IsZero() && x.script.Saves() {
		x.saved = true
		x.play()
	}
}

func (x *player) stop(s *wire.Stop) {
	x.mu.Lock()
	held := x.state.Phase == wire.PhaseHeld
	play := x.play
	x.mu.Unlock()
	switch {
	case held:
		x.exit(s.Incarnation, event.Exit{Class: event.ClassCancelled, Status: 143, Stopped: true})
	case play != nil:
		play()
	}
}

func (x *player) exit(incarnation int, e event.Exit) {
	e.At = time.Now()
	if x.cluster.Defect == FlattensExits && e.Status > 1 {
		e.Class, e.Status, e.Signal = event.ClassExit, 1, ""
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.state.Incarnation != incarnation {
		return
	}
	x.state.Phase, x.state.Exit = wire.PhaseExited, &e
	if x.conn != nil {
		for range 2 { // every message may be repeated
			_ = x.conn.Send(wire.Message{Exited: &wire.Exited{Incarnation: incarnation, Exit: e}})
		}
	}
}
