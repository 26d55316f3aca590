package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Tree is a running task: its guardian and the processes below it.
type Tree struct {
	spec    Spec
	cmd     *exec.Cmd
	in      *os.File // orders to the guardian
	out     *os.File // its reports
	decode  *json.Decoder
	pids    []int
	cgroups []string
	patient time.Duration
	done    chan struct{} // closed when result is final
	result  Result        // valid once done is closed

	// send guards encode. It may be taken while mu is not held, never after it.
	send   sync.Mutex
	encode *json.Encoder

	mu      sync.Mutex // guards what follows
	usage   Usage
	asked   map[int]chan string // answers awaited by Signal
	execs   map[int]*Exec       // that have not ended
	next    int
	rescue  *time.Timer // kills a guardian that does not stop; nil before Stop
	ends    time.Time   // when rescue fires
	stopped bool
}

// Start starts a guardian and, through it, the processes of spec. It returns
// when they run or have failed to; a program that did not start is no error
// here but an Exit with Error in the Result. Once Start has returned, ctx has
// no part in the tree's life.
func Start(ctx context.Context, spec Spec) (*Tree, error) {
	switch {
	case len(spec.Guardian) == 0:
		return nil, errors.New("guardian: no command line given")
	case len(spec.Procs) == 0:
		return nil, errors.New("procs: no process given")
	}
	t := &Tree{spec: spec.withDefaults(), patient: patience, done: make(chan struct{}), asked: map[int]chan string{}, execs: map[int]*Exec{}}
	if err := t.launch(); err != nil {
		return nil, err
	}
	if err := t.handshake(ctx); err != nil {
		t.abandon()
		return nil, fmt.Errorf("guardian: did not start the processes: %w", err)
	}
	go t.listen()
	return t, nil
}

func (s Spec) withDefaults() Spec {
	if s.Signal == 0 {
		s.Signal = syscall.SIGTERM
	}
	if s.Grace == 0 {
		s.Grace = 10 * time.Second
	}
	if s.Second == 0 {
		s.Second = 10 * time.Second
	}
	return s
}

// launch starts the guardian's process.
func (t *Tree) launch() error {
	childIn, in, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("guardian: no pipe: %w", err)
	}
	defer childIn.Close()
	out, childOut, err := os.Pipe()
	if err != nil {
		return errors.Join(fmt.Errorf("guardian: no pipe: %w", err), in.Close())
	}
	defer childOut.Close()

	t.cmd = exec.Command(t.spec.Guardian[0], t.spec.Guardian[1:]...)
	t.cmd.Stdin, t.cmd.Stdout, t.cmd.Stderr = childIn, childOut, os.Stderr
	t.cmd.ExtraFiles = t.spec.Hold
	t.cmd.Env = []string{} // the guardian needs none, and its processes have their own
	t.cmd.Dir = "/"        // it must not keep a mount busy
	// A session of its own: whoever kills the executor's group leaves it alone.
	t.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := living.start(t.cmd); err != nil {
		return errors.Join(fmt.Errorf("guardian: cannot start: %w", err), in.Close(), out.Close())
	}
	t.in, t.out = in, out
	t.encode, t.decode = json.NewEncoder(in), json.NewDecoder(out)
	return nil
}

// handshake sends the specification and waits until the processes run.
func (t *Tree) handshake(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() {
		past := time.Unix(1, 0)
		_ = errors.Join(t.in.SetDeadline(past), t.out.SetDeadline(past)) // pipes have deadlines
	})
	defer stop()
	var first report
	err := t.encode.Encode(order{Spec: &t.spec})
	if err == nil {
		err = t.decode.Decode(&first)
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, io.EOF), errors.Is(err, syscall.EPIPE):
		return fmt.Errorf("%s ended without a word", strings.Join(t.spec.Guardian, " "))
	case err != nil:
		return err
	case first.Started == nil:
		return errors.New("its first word was another")
	}
	t.pids, t.cgroups = first.Started.PIDs, asText(first.Started.Cgroups)
	return nil
}

// abandon undoes a start that did not come to its end.
func (t *Tree) abandon() {
	t.in.Close()
	t.killGuardian()
	_ = living.wait(t.cmd) // killed: what else
	t.out.Close()
	t.inherit()
}

// killGuardian makes this process the heir of the tree.
func (t *Tree) killGuardian() {
	_ = t.cmd.Process.Kill() // or it has ended by itself
}

// listen owns the guardian's reports and its end.
func (t *Tree) listen() {
	var final *Result
	for final == nil {
		var r report
		if err := t.decode.Decode(&r); err != nil {
			break
		}
		switch {
		case r.Usage != nil:
			t.mu.Lock()
			t.usage = *r.Usage
			t.mu.Unlock()
		case r.Answer != nil:
			t.reply(*r.Answer)
		case r.Exec != nil:
			t.execed(*r.Exec)
		case r.Result != nil:
			final = r.Result
		}
	}
	if final != nil && len(final.Left) > 0 {
		// The guardian stays, with all it holds, until the last process has gone.
		t.finish(*final)
	}
	err := living.wait(t.cmd)
	t.in.Close()
	t.out.Close()
	switch {
	case final == nil:
		t.finish(t.lost(err))
	case len(final.Left) == 0:
		t.finish(*final)
	}
}

func (t *Tree) finish(r Result) {
	t.result = r
	t.mu.Lock()
	if t.rescue != nil {
		t.rescue.Stop()
	}
	t.mu.Unlock()
	t.endExecs()
	close(t.done)
}

// PIDs are the processes in the order of the specification; 0 for one that did
// not start.
func (t *Tree) PIDs() []int { return slices.Clone(t.pids) }

// Done is closed when nothing of the tree is left (or Result.Left says what)
// and all its output is in the files.
func (t *Tree) Done() <-chan struct{} { return t.done }

// Result is how the tree ended. It waits for Done.
func (t *Tree) Result() Result {
	<-t.done
	return t.result
}

// Usage is what the tree used when the guardian last looked.
func (t *Tree) Usage() Usage {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.usage
}

// Stop ends the tree: sig to every process's group, after grace the kill; with
// now the kill at once. It returns without waiting and may be repeated: the
// earliest end counts, and the signal is sent once.
func (t *Tree) Stop(sig syscall.Signal, grace time.Duration, now bool) {
	if sig == 0 {
		sig = t.spec.Signal
	}
	if now {
		grace = 0
	}
	t.guard(grace)
	// An error means that the guardian has gone, which is more than was asked.
	_ = t.order(order{Stop: &stopOrder{Signal: sig, Grace: grace, Now: now}})
}

// patience is what a guardian may take over the time that it was given before
// it counts as hung.
const patience = 10 * time.Second

// guard sees to it that the tree ends although the guardian hangs: it is then
// killed, and its tree inherited.
func (t *Tree) guard(grace time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	after := grace + t.spec.Second + t.patient
	ends := time.Now().Add(after)
	switch {
	case t.rescue == nil:
		t.rescue = time.AfterFunc(after, t.killGuardian)
	case ends.Before(t.ends):
		t.rescue.Reset(after)
	default:
		return
	}
	t.ends, t.stopped = ends, true
}

// Signal sends sig to the group of every process of the specification that
// still runs, and to nothing else.
func (t *Tree) Signal(sig syscall.Signal) error {
	t.mu.Lock()
	t.next++
	id, ch := t.next, make(chan string, 1)
	t.asked[id] = ch
	t.mu.Unlock()
	defer func() {
		t.mu.Lock()
		delete(t.asked, id)
		t.mu.Unlock()
	}()
	if err := t.order(order{Signal: &signalOrder{ID: id, Signal: sig}}); err != nil {
		return fmt.Errorf("%v: not sent: the task has ended", sig)
	}
	slow := time.NewTimer(t.patient)
	defer slow.Stop()
	select {
	case text := <-ch:
		if text != "" {
			return fmt.Errorf("%v: not sent: %s", sig, text)
		}
		return nil
	case <-t.done:
		return fmt.Errorf("%v: not sent: the task has ended", sig)
	case <-slow.C:
		return fmt.Errorf("%v: no answer from guardian %d", sig, t.cmd.Process.Pid)
	}
}

func (t *Tree) reply(a answer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if ch := t.asked[a.ID]; ch != nil {
		ch <- a.Error
	}
}

func (t *Tree) order(o order) error {
	t.send.Lock()
	defer t.send.Unlock()
	// A hung guardian must not hang its executor.
	if err := t.in.SetWriteDeadline(time.Now().Add(t.patient)); err != nil {
		return err
	}
	return t.encode.Encode(o)
}
