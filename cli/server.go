package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-project/muster/api"
	"github.com/muster-project/muster/backend/local"
	"github.com/muster-project/muster/executor"
	"github.com/muster-project/muster/internal/version"
	"github.com/muster-project/muster/plan"
)

// client talks to the server: the one that MUSTER_SOCKET names, else the
// machine's if an administrator runs one and this user has no MUSTER_HOME, else
// the user's own, which is started when it does not answer. Command line and
// server agree on their versions here.
func (e *Env) client(ctx context.Context) (*api.Client, error) {
	paths, err := e.Paths()
	if err != nil {
		return nil, err
	}
	starter := &api.Starter{Socket: paths.Socket, State: paths.State, Argv: executor.Self("serve"), Env: e.serverEnviron(paths)}
	if e.sharedServes() || paths.Socket == api.SharedSocket {
		starter.Socket, starter.Argv = api.SharedSocket, nil
	} else if err := os.MkdirAll(paths.State, 0o700); err != nil {
		return nil, faultf(exitRefused, "%s: state directory cannot be made: %w", paths.State, cause(err)).
			hint("set MUSTER_HOME to a directory that you may write")
	}
	c, _, err := api.Connect(ctx, starter, version.String())
	return c, refused(err)
}

// serverEnviron is our environment with absolute paths: a server runs in /.
func (e *Env) serverEnviron(p Paths) []string {
	env := slices.Clone(e.Environ)
	if e.Getenv("MUSTER_HOME") != "" {
		env = append(env, "MUSTER_HOME="+p.State)
	}
	if e.Getenv("MUSTER_SOCKET") != "" {
		env = append(env, "MUSTER_SOCKET="+p.Socket)
	}
	return env
}

// assemble makes the plan of a command line. Close it.
func (e *Env) assemble(ctx context.Context, cmd *cobra.Command, f *jobFlags, args []string) (*assembly, error) {
	if err := checkArgs(e.Args); err != nil {
		return nil, err
	}
	a, err := e.resolve(cmd, f, args)
	if err != nil {
		return nil, err
	}
	if err := a.build(ctx); err != nil {
		a.close()
		return nil, err
	}
	return a, nil
}

func (a *assembly) close() {
	if a.client != nil {
		a.client.Close()
	}
}

// refused gives errors of the server their exit status.
func refused(err error) error {
	var f *Fault
	if err == nil || errors.As(err, &f) {
		return err
	}
	var known *api.Error
	switch {
	case errors.As(err, &known) && known.Code == api.CodeInternal:
		return fault(exitInternal, err)
	case errors.As(err, &known) && known.Code == api.CodeBusy:
		return fault(exitRetry, err)
	}
	return fault(exitRefused, err)
}

// sendStop asks a job to end.
func (e *Env) sendStop(ctx context.Context, j job, now bool) error {
	if j.remote != nil {
		b, err := e.connect(j)
		if err != nil {
			return err
		}
		return refused(b.Stop(ctx, j.remote.Ref, now))
	}
	c, err := e.client(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	return refused(c.Stop(ctx, j.ID, api.Stop{Now: now}))
}

// sendSignal asks for a signal to be sent to tasks; none named means all.
func (e *Env) sendSignal(ctx context.Context, j job, name string, tasks []plan.TaskID) error {
	if j.remote != nil {
		return e.post(ctx, j, api.Mail{Signal: &api.Signal{Request: rand.Text(), Signal: name, Tasks: tasks, By: e.account()}})
	}
	c, err := e.client(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	return refused(c.Signal(ctx, j.ID, api.Signal{Request: rand.Text(), Signal: name, Tasks: tasks}))
}

// sendRequeue asks a job to give its slots back and to go on in others.
func (e *Env) sendRequeue(ctx context.Context, j job, reason string) error {
	r := api.Requeue{Request: rand.Text(), Reason: reason}
	if j.remote != nil {
		r.By = e.account()
		return e.post(ctx, j, api.Mail{Requeue: &r})
	}
	c, err := e.client(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	return refused(c.Requeue(ctx, j.ID, r))
}

// wakeOwn makes this user's own server answer, which tends jobs on clusters; an
// administrator's server for the machine does not.
func (e *Env) wakeOwn(ctx context.Context) error {
	paths, err := e.Paths()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(paths.State, 0o700); err != nil {
		return err
	}
	starter := &api.Starter{Socket: paths.Socket, State: paths.State, Argv: executor.Self("serve"), Env: e.serverEnviron(paths)}
	return starter.Ensure(ctx)
}

// wake makes a server answer, which takes up jobs that have no coordinator.
func (e *Env) wake(ctx context.Context) {
	if c, err := e.client(ctx); err == nil {
		c.Close() // it answered; whoever waits goes on waiting
	}
}

// checkServer looks at the server without starting one.
func (e *Env) checkServer(ctx context.Context, p Paths) finding {
	c := api.NewClient(p.Socket, nil)
	defer c.Close()
	h, err := c.Hello(ctx)
	switch {
	case api.Away(err):
		return finding{Check: "server", Verdict: "ok", Text: "not running; run and submit start one"}
	case err != nil:
		return finding{"server", "failed", err.Error(), "muster serve --stop ends it; jobs go on"}
	}
	text := fmt.Sprintf("answers, version %s, process %d, %s", h.Version, h.PID, plural(h.Jobs, "job"))
	if h.API != api.Version {
		return finding{"server", "failed", text + fmt.Sprintf("; speaks API %d, this muster %d", h.API, api.Version), "muster serve --stop ends it; the next run starts one of this version"}
	}
	if h.Version != version.String() {
		return finding{"server", "warning", text + "; this muster is " + version.String(), "muster serve --stop ends it; the next run starts one of this version"}
	}
	return finding{Check: "server", Verdict: "ok", Text: text}
}

// ledger is the claims of this machine.
func (e *Env) ledger(p Paths) local.Ledger { return local.Ledger{Dirs: claimDirs(p)} }

func claimDirs(p Paths) []string {
	if p.Claims == "" {
		return local.DefaultClaims()
	}
	return strings.Split(p.Claims, ":")
}
