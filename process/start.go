package process

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// start starts the processes in their order. After one that cannot be started
// the rest is not tried; what runs already is stopped by the loop.
func (g *guardian) start() {
	g.mains = make([]main, len(g.spec.Procs))
	for i, p := range g.spec.Procs {
		m := &g.mains[i]
		if g.first >= 0 {
			m.Exit = Exit{Stopped: true, At: time.Now(), Status: 127, Error: fmt.Sprintf("%s: not started, since process %d was not", name(p), g.first)}
			continue
		}
		pid, err := g.launch(p)
		if err != nil {
			e := refusal{status: 126}
			errors.As(err, &e)
			m.Exit = Exit{At: time.Now(), Status: e.status, Error: err.Error()}
			g.first = i
			continue
		}
		m.PID, m.live = pid, true
	}
}

func name(p Proc) string {
	if len(p.Argv) == 0 {
		return "command"
	}
	return p.Argv[0]
}

func (g *guardian) pids() []int {
	var pids []int
	for _, m := range g.mains {
		pids = append(pids, m.PID)
	}
	return pids
}

// launch forks one process with nothing but its three files.
func (g *guardian) launch(p Proc) (int, error) {
	path, err := find(p)
	if err != nil {
		return 0, err
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, fmt.Errorf("%s: cannot open: %w", os.DevNull, cause(err))
	}
	defer null.Close()
	out, err := g.pump.open(p.Stdout, g.spec)
	if err != nil {
		return 0, err
	}
	defer out.Close()
	errs := out
	if p.Stderr != p.Stdout {
		if errs, err = g.pump.open(p.Stderr, g.spec); err != nil {
			return 0, err
		}
		defer errs.Close()
	}
	return g.limit.fork(path, p, syscall.ProcAttr{
		Dir:   p.Dir,
		Env:   p.Env,
		Files: []uintptr{null.Fd(), out.Fd(), errs.Fd()},
		// A process never outlives its guardian; what it has started itself comes to
		// the executor then.
		Sys: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	})
}
