package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Guard is the main of the hidden verb that Spec.Guardian names: it reads its
// orders from in and reports to out, its stdin and stdout, until nothing of its
// tree is left. It returns the process's exit status.
func Guard(in, out *os.File) int {
	g := guardian{kill: syscall.Kill}
	if err := g.run(in, out); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// guardian is the parent of the user's processes. All its state belongs to one
// loop on one OS thread; readers of orders, of the children's ends and of
// their output are goroutines that only feed it.
//
//	running ──stop, first failure──────────▶ stopping
//	running ──all ended──────────────────────────────────▶ killing
//	running, stopping ──executor gone, now, memory───────▶ killing
//	stopping ──grace over; all and their groups ended────▶ killing
//	killing ──no child left──▶ drained ──▶ result, end
//	killing ──second grace over──▶ result names what is left; still killing
type guardian struct {
	kill  func(pid int, sig syscall.Signal) error // a test's way to have a process that cannot be killed
	spec  Spec
	mains []main
	execs map[int]*session // of further processes, by their orders' IDs
	pump  pump
	limit *limit
	used  used

	reports  chan report
	state    state
	deadline *time.Timer // of stopping and killing
	ends     time.Time   // when deadline fires
	again    *time.Ticker
	first    int
	memory   bool // over its limit, as seen by watching
	reported bool
	sent     map[syscall.Signal]bool // what Signal has delivered
}

type state int

const (
	running state = iota
	stopping
	killing
)

// main is a process of the specification.
type main struct {
	Exit
	live bool
}

// retry is how often killing is repeated while something is left.
const retry = 50 * time.Millisecond

func (g *guardian) run(in, out *os.File) error {
	// Parent-death signals are bound to the thread that forked: this one stays.
	runtime.LockOSThread()
	// With a handler for every signal none can end the guardian, and unlike
	// ignored ones they are back at their defaults in the processes.
	signal.Notify(make(chan os.Signal, 1))
	if err := prepareSelf(); err != nil {
		return err
	}
	decode := json.NewDecoder(in)
	var first order
	if err := decode.Decode(&first); err != nil || first.Spec == nil {
		return fmt.Errorf("guardian: no specification on standard input: %w", err)
	}
	g.spec = *first.Spec
	g.first, g.sent, g.execs = -1, map[syscall.Signal]bool{}, map[int]*session{}
	g.deadline = time.NewTimer(time.Hour)
	g.deadline.Stop()
	g.again = time.NewTicker(retry)
	g.again.Stop()
	syscall.Umask(g.spec.Umask)

	g.reports = make(chan report, 16)
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		send(out, g.reports)
	}()
	g.limit = newLimit(g.spec.Limits)
	g.start()
	g.reports <- report{Started: &started{PIDs: g.pids(), Cgroups: asBytes(g.limit.dirs())}}

	orders := make(chan order)
	go receive(decode, orders)
	children := reap()
	g.judge()
	g.loop(orders, children)
	close(g.reports)
	<-sent
	return nil
}

// prepareSelf makes this process inherit the orphans of its tree and keeps the
// files that it was given from the processes.
func prepareSelf() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("guardian: cannot become subreaper: %w", err)
	}
	if unix.CloseRange(3, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return nil
	}
	// A kernel before 5.11.
	dir, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return fmt.Errorf("guardian: cannot list its open files: %w", err)
	}
	for _, d := range dir {
		var fd int
		if _, err := fmt.Sscan(d.Name(), &fd); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}

func send(out *os.File, reports <-chan report) {
	encode := json.NewEncoder(out)
	var err error
	for r := range reports {
		if err == nil { // an executor that is gone is seen by the loop, on the other pipe
			err = encode.Encode(r)
		}
	}
}

func receive(decode *json.Decoder, orders chan<- order) {
	defer close(orders)
	for {
		var o order
		if decode.Decode(&o) != nil {
			return
		}
		orders <- o
	}
}

// loop runs until nothing of the tree is left.
func (g *guardian) loop(orders <-chan order, children children) {
	for {
		select {
		case o, ok := <-orders:
			if !ok {
				orders = nil
				g.begin(killing, g.spec.Second)
				continue
			}
			g.obey(o)
		case pid, ok := <-children.ended:
			if !ok {
				g.finish()
				return
			}
			g.reap(pid)
			children.next <- struct{}{}
			g.judge()
		case <-g.deadline.C:
			g.expire()
		case <-g.again.C:
			if g.state == killing {
				g.sweep()
			} else {
				g.judge()
			}
		case <-g.limit.due():
			g.watch()
		}
	}
}

func (g *guardian) obey(o order) {
	switch {
	case o.Stop != nil && o.Stop.Now:
		g.begin(killing, g.spec.Second)
	case o.Stop != nil:
		g.stop(o.Stop.Signal, o.Stop.Grace)
	case o.Signal != nil:
		err := g.signal(o.Signal.Signal)
		a := answer{ID: o.Signal.ID}
		if err != nil {
			a.Error = err.Error()
		}
		g.reports <- report{Answer: &a}
	case o.Exec != nil:
		g.exec(*o.Exec)
	case o.Hit != nil:
		g.hit(*o.Hit)
	}
}

// stop asks the processes to end. Only the first request sends its signal; later
// ones can but hasten the end.
func (g *guardian) stop(sig syscall.Signal, grace time.Duration) {
	if g.state == running {
		// What has ended before the request did not end because of it.
		for _, m := range g.mains {
			g.reap(m.PID)
		}
		for _, group := range g.groups() {
			_ = g.kill(-group, sig) // a group that has gone meanwhile needs none
		}
	}
	g.begin(stopping, grace)
	g.judge()
}

// groups are those of the specification's processes in which something lives,
// perhaps without the process that it was made for, and all in the sessions of
// further ones.
func (g *guardian) groups() []int {
	lives, further := map[int]bool{}, map[int]bool{}
	for _, s := range g.execs {
		further[s.pid] = true
	}
	var found []int
	for _, e := range g.descendants() {
		if e.zombie || lives[e.group] {
			continue
		}
		lives[e.group] = true
		if further[e.session] {
			found = append(found, e.group)
		}
	}
	for _, m := range g.mains {
		if m.PID > 0 && lives[m.PID] {
			found = append(found, m.PID)
		}
	}
	return found
}

// begin enters a state, or hastens its end if it is that already.
func (g *guardian) begin(s state, within time.Duration) {
	ends := time.Now().Add(within)
	if s < g.state || s == g.state && !ends.Before(g.ends) {
		return
	}
	entered := s != g.state
	g.state, g.ends = s, ends
	g.deadline.Reset(within)
	if s == killing && entered {
		g.again.Reset(retry)
		g.sweep()
	}
}

func (g *guardian) expire() {
	switch {
	case g.state == stopping:
		g.begin(killing, g.spec.Second)
	case g.state == killing && !g.reported:
		g.report(g.left())
	}
}

// signal sends sig to what still runs of the specification.
func (g *guardian) signal(sig syscall.Signal) error {
	err := errors.New("the task has ended")
	for _, m := range g.mains {
		if !m.live {
			continue
		}
		if err = g.kill(-m.PID, sig); err != nil {
			return err
		}
		g.sent[sig] = true
	}
	return err
}

// reap takes the end of a child: a process of the specification or an orphan.
func (g *guardian) reap(pid int) {
	if pid <= 0 {
		return
	}
	var status syscall.WaitStatus
	var usage syscall.Rusage
	got, err := syscall.Wait4(pid, &status, syscall.WNOHANG|unix.WALL, &usage)
	if err != nil || got != pid {
		return
	}
	g.used.add(usage)
	g.execEnded(pid, status)
	for i := range g.mains {
		m := &g.mains[i]
		if m.PID != pid || !m.live {
			continue
		}
		m.live = false
		m.Exit = exitOf(pid, status)
		m.Stopped = g.state != running && g.first != i
		if m.Status != 0 && g.first < 0 && !m.Stopped {
			g.first = i
		}
	}
}

// judge decides what the latest end means for the rest.
func (g *guardian) judge() {
	live := slices.ContainsFunc(g.mains, func(m main) bool { return m.live })
	switch {
	case g.state == killing:
	case live && g.first >= 0 && g.state == running:
		g.stop(g.spec.Signal, g.spec.Grace)
	case live:
	case g.state == running && g.told():
		// A shell without a trap died of a signal that was meant for its program,
		// which may be saving now.
		g.begin(stopping, g.spec.Grace)
		g.judge()
	case g.state == stopping && len(g.groups()) > 0:
		// A shell dies of the stop signal at once, while the program below it still
		// writes its checkpoint. The grace is the program's.
		g.again.Reset(retry)
	default:
		g.begin(killing, g.spec.Second)
	}
}

// told says whether a process ended by a signal that Signal had delivered.
func (g *guardian) told() bool {
	return slices.ContainsFunc(g.mains, func(m main) bool { return m.Signal != 0 && g.sent[m.Signal] })
}
