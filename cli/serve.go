package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-project/muster/api"
	"github.com/muster-project/muster/backend/local"
	"github.com/muster-project/muster/executor"
	"github.com/muster-project/muster/internal/version"
	"github.com/muster-project/muster/server"
	"github.com/muster-project/muster/spec"
)

// serveOptions are the flags of serve.
type serveOptions struct {
	idle   time.Duration
	stop   bool
	shared bool
	cpus   int
	memory string
	gpus   int
}

// sharedState is where an administrator's server keeps its jobs.
const sharedState = "/var/lib/muster"

func (e *Env) serveCommand() *cobra.Command {
	var o serveOptions
	cmd := &cobra.Command{
		Use: "serve", GroupID: "site", Short: "run the server of the local backend",
		Long: "Run the server of the local backend. run and submit start one when none answers; it ends by itself\n" +
			"after --idle without jobs. Jobs outlive it, and the next server takes them up again.\n" +
			"With --shared it is the server of all users of the machine and must be root's. Each job runs as\n" +
			"its user; who else may see it and act on it its acls say. A user's own server is reached by that\n" +
			"user alone.",
		Example: "  muster serve --idle 0    # stays\n  muster serve --stop",
		Args:    count(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := e.until(cmd.Context())
			defer stop()
			if o.stop {
				return e.stopServer(ctx)
			}
			return e.serve(ctx, o)
		},
	}
	s := cmd.Flags()
	s.SortFlags = false
	s.DurationVar(&o.idle, "idle", 15*time.Minute, "end after this long without jobs; 0: never")
	s.BoolVar(&o.stop, "stop", false, "end the running server; its jobs go on")
	s.BoolVar(&o.shared, "shared", false, "serve all users of this machine")
	s.IntVar(&o.cpus, "cpus", 0, "processors to hand out (default: those of the machine)")
	s.StringVar(&o.memory, "memory", "", "memory to hand out (default: that of the machine)")
	s.IntVar(&o.gpus, "gpus", -1, "GPUs to hand out (default: those of the machine)")
	s.Lookup("gpus").DefValue = "0" // the sentence says it
	return cmd
}

func (e *Env) serve(ctx context.Context, o serveOptions) error {
	paths, err := e.Paths()
	if err != nil {
		return err
	}
	machine := local.Settings{CPUs: o.cpus}
	if o.gpus >= 0 {
		machine.GPUs = &o.gpus
	}
	if o.memory != "" {
		memory, err := spec.ParseSize(o.memory)
		if err != nil {
			return faultf(exitUsage, "--memory %w", err)
		}
		machine.Memory = int64(memory)
	}
	if o.shared {
		paths.State, paths.Socket = sharedState, api.SharedSocket
	}
	log := slog.New(slog.NewTextHandler(e.Stderr, nil))
	e.tending = log
	var far server.Away
	if !o.shared { // a user's jobs on clusters are tended with the user's rights
		far = away{e}
	}
	err = server.Run(ctx, server.Config{Away: far,
		State: paths.State, Socket: paths.Socket, Shared: o.shared, Idle: o.idle,
		Coordinator: executor.Self("coordinator"), Serve: executor.Self("serve"), Lines: executor.Self("lines"),
		Version: version.String(), Machine: machine, Claims: claimDirs(paths),
		SiteFile: paths.Site, Seal: seal, Log: log,
	})
	if _, ok := errors.AsType[interruption](context.Cause(ctx)); ok {
		return nil // INT and TERM are how a server in the foreground is ended
	}
	return refused(err)
}

// stopServer ends the running server and waits until it is gone.
func (e *Env) stopServer(ctx context.Context) error {
	paths, err := e.Paths()
	if err != nil {
		return err
	}
	if e.sharedServes() {
		paths.Socket = api.SharedSocket
	}
	c := api.NewClient(paths.Socket, nil)
	defer c.Close()
	h, err := c.Hello(ctx)
	if api.Away(err) {
		fmt.Fprintln(e.Stdout, "no server is running")
		return nil
	}
	if err != nil {
		return refused(err)
	}
	if err := c.Shutdown(ctx, false); err != nil && !api.Away(err) {
		return refused(err)
	}
	ended, err := local.Watch(h.PID)
	if err == nil {
		defer ended.Close()
		if err := ended.Wait(ctx); err != nil {
			return err
		}
	}
	text := "server ended"
	if h.Jobs > 0 {
		text += fmt.Sprintf("; %s on", plural(h.Jobs, "job")+" go"+map[bool]string{true: "es"}[h.Jobs == 1])
	}
	fmt.Fprintln(e.Stdout, text)
	return nil
}

// sharedServes says that this user's jobs go to the machine's own server: an
// administrator runs one, and nothing says otherwise.
func (e *Env) sharedServes() bool {
	if e.Getenv("MUSTER_HOME") != "" || e.Getenv("MUSTER_SOCKET") != "" {
		return false
	}
	_, err := os.Stat(api.SharedSocket)
	return err == nil
}
