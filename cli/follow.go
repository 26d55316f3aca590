package cli

import (
	"context"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/session"
)

// follower shows one job until it ends or the person leaves it. Its loop owns
// the state; journal, logs, clock, signals and answers come in by channels.
//
// Signals: on a terminal Ctrl-C asks, and a second one while the question
// stands stops the job. Off a terminal INT and TERM stop the job, a second one
// at once. HUP always detaches: the client may vanish.
type follower struct {
	env     *Env
	job     job
	screen  *screen
	session *session.Session
	heard   time.Time
	dead    time.Time // since when no coordinator has been seen
	logs    *logTail
	mirror  *mirror
	asking  context.CancelFunc // nil: no question on the screen
	asked   chan struct{}      // closed when the question has left the screen
	stops   int                // how often a stop was asked for
	stopped time.Time          // and when, the last time
	decile  int64              // of progress, last told off a terminal
	wg      sync.WaitGroup
}

// fact is one event of the journal, or the error that ended it.
type fact struct {
	event event.Event
	err   error
}

// follow shows the job and returns its outcome; the error is detached if the
// person left. With data everything goes to standard error: standard output is
// for the outcome.
func (e *Env) follow(ctx context.Context, j job, data bool) (event.Outcome, error) {
	ctx, cancel := context.WithCancel(ctx)
	f := &follower{env: e, job: j, screen: e.screen(), heard: j.Submitted,
		session: session.New(session.Options{Ready: readyFor(j.Plan)})}
	if data {
		f.screen.out = e.Stderr
	}
	f.logs = e.newLogTail(j, f.screen)
	m, err := e.mirrorOf(j, true)
	if err != nil {
		cancel()
		return event.Outcome{}, err
	}
	f.mirror = m
	m.start(ctx)
	facts := make(chan fact)
	f.wg.Go(func() {
		defer close(facts)
		for ev, err := range e.journal(ctx, j, true) {
			select {
			case facts <- fact{ev, err}:
			case <-ctx.Done():
				return
			}
		}
	})
	keep := e.keeper(ctx, j)
	defer func() {
		cancel()
		keep.stop()
		m.stop()
		f.wg.Wait()
		f.screen.clear()
	}()
	return f.loop(ctx, facts)
}

func (f *follower) loop(ctx context.Context, facts <-chan fact) (event.Outcome, error) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	answers := make(chan answer, 1)
	ready := make(chan struct{})
	close(ready)
	var more <-chan struct{} // ready while logs are waiting to be shown
	var end *event.Outcome
	var settled <-chan struct{} // once the job has ended: its logs are all here
	for {
		select {
		case fact, ok := <-facts:
			if !ok {
				return event.Outcome{}, faultf(exitInternal, "%s: its journal ended without an outcome", f.job.ID)
			}
			if fact.err != nil {
				return event.Outcome{}, fmt.Errorf("%s: journal: %w", f.job.ID, fact.err)
			}
			if end = f.take(fact.event); end != nil {
				f.unask()
				facts, settled = nil, f.mirror.finish()
			}
		case <-settled:
			return *end, f.logs.drain()
		case s := <-f.env.Signals:
			if err := f.signal(ctx, s, answers); err != nil {
				return event.Outcome{}, err
			}
		case a := <-answers:
			f.unask()
			if a == detach {
				return event.Outcome{}, detached{}
			}
			if a == stopJob {
				f.stop(ctx)
			}
		case <-more:
			more = nil
			atEnd, err := f.logs.pump()
			if err != nil {
				return event.Outcome{}, err
			}
			if !atEnd {
				more = ready
			}
		case <-tick.C:
			if f.asking == nil { // what the screen holds back must not grow
				more = ready
			}
			f.draw()
		}
	}
}

// take applies one fact and tells what a person wants to know of it.
func (f *follower) take(ev event.Event) *event.Outcome {
	f.session.Evolve(ev)
	f.heard = ev.At
	switch b := ev.Body.(type) {
	case *event.TaskStarted:
		f.logs.open(b.Task, b.Incarnation)
		f.mirror.watch(b.Task, b.Incarnation)
	case *event.JobWaiting:
		if !f.screen.live && len(b.Reasons) > 0 {
			f.screen.say("%s", event.Text(ev))
		}
	case *event.RosterCompleted:
		if b.Roster != nil {
			f.screen.say("epoch %d: %s, world size %d", b.Roster.Epoch, plural(len(b.Roster.Members), "task"), b.Roster.World)
		}
	case *event.TermOpened:
		if b.Previous > 0 {
			f.screen.say("%s", event.Text(ev))
		}
	case *event.TaskExited:
		if b.Exit.Failed() {
			f.flush()
			f.screen.say("%s", event.Text(ev))
		}
	case *event.TaskPublished, *event.JobWarned, *event.RestartDecided, *event.PreemptionAnnounced, *event.PreemptionWithdrawn, *event.StopRequested, *event.RequestRefused:
		f.screen.say("%s", event.Text(ev))
	case *event.ProgressReported:
		f.progress()
	case *event.JobFinished:
		return &b.Outcome
	}
	return nil
}

// flush shows what a task printed before its end is told.
func (f *follower) flush() { _, _ = f.logs.pump() } // the next pump meets the same error

// progress tells each tenth of the way off a terminal, where there is no bar.
func (f *follower) progress() {
	if f.screen.live {
		return
	}
	b := boardOf(f.env.reportOf(f.session, f.job, f.heard), f.env.Now())
	if b.Progress == nil || b.Progress.Total <= 0 {
		return
	}
	d := 10 * b.Progress.Step / b.Progress.Total
	if d < f.decile { // the next epoch of those that are counted alone, or a restart
		f.decile = d
	}
	if d > f.decile {
		f.decile = d
		f.screen.say("%s", b.Progress.plain())
	}
}

func (f *follower) draw() {
	if !f.screen.live || f.asking != nil {
		return
	}
	now := f.env.Now()
	r := f.env.reportOf(f.session, f.job, f.heard)
	r.Alive = f.alive(r.Alive, now)
	f.screen.draw(boardOf(r, now).lines(f.screen.width()))
}

// alive believes in a coordinator for a moment longer than one is seen: at the
// end of a job it leaves before its last words have been read here, and a dead
// one is replaced as quickly.
func (f *follower) alive(seen bool, now time.Time) bool {
	if seen {
		f.dead = time.Time{}
		return true
	}
	if f.dead.IsZero() {
		f.dead = now
	}
	return now.Sub(f.dead) < 3*time.Second
}

func (f *follower) signal(ctx context.Context, s os.Signal, answers chan<- answer) error {
	switch {
	case s == syscall.SIGWINCH:
		f.draw()
	case s == syscall.SIGHUP:
		return detached{syscall.SIGHUP}
	case s == syscall.SIGINT && f.env.Interactive() && f.stops == 0 && f.asking == nil:
		f.ask(ctx, answers)
	default:
		f.unask()
		f.stop(ctx)
	}
	return nil
}

// ask puts the question without stopping the loop: the job may end meanwhile.
func (f *follower) ask(ctx context.Context, answers chan<- answer) {
	ctx, f.asking = context.WithCancel(ctx)
	asked := make(chan struct{})
	f.asked = asked
	f.wg.Go(func() {
		defer close(asked)
		a, ok := f.env.ask(ctx, f.screen)
		if ctx.Err() != nil {
			return // the answer came by other means
		}
		if !ok {
			a = detach // nobody is there any more
		}
		answers <- a
	})
}

func (f *follower) unask() {
	if f.asking != nil {
		f.asking()
		<-f.asked
		f.asking = nil
	}
}

// echo is how soon after a signal the same is no second one: timeout(1) and
// other programs that start programs send one to their child and to the group
// that it is in. Nobody who is asked to wait presses Ctrl-C again as quickly.
const echo = 300 * time.Millisecond

// stop asks for the job's end; the second time at once.
func (f *follower) stop(ctx context.Context) {
	at := f.env.Now()
	if f.stops > 0 && at.Sub(f.stopped) < echo {
		return
	}
	f.stopped = at
	f.stops++
	now := f.stops > 1
	f.wg.Go(func() {
		if err := f.env.sendStop(ctx, f.job, now); err != nil && ctx.Err() == nil {
			f.screen.say("%v", err)
		}
	})
}
