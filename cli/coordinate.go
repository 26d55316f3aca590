package cli

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/muster-project/muster/api"
	"github.com/muster-project/muster/backend/local"
	"github.com/muster-project/muster/coordinator"
	"github.com/muster-project/muster/executor"
	"github.com/muster-project/muster/framework"
	"github.com/muster-project/muster/internal/embedded"
	"github.com/muster-project/muster/internal/version"
)

// coordinate drives the job in a directory, or only ends it with a reason.
// Standard error is the job's coordinator.log.
func (e *Env) coordinate(ctx context.Context, dir, reason string) error {
	if reason != "" {
		return seal(ctx, dir, reason)
	}
	lock, err := local.LockCoordinator(ctx, dir)
	if err != nil {
		return fault(exitRetry, err)
	}
	defer lock.Close()
	link, err := local.ReadLink(dir)
	if err != nil {
		return err
	}
	starter := &api.Starter{Socket: link.Socket, State: link.State, Argv: link.Serve, Env: e.Environ}
	client := api.NewClient(link.Socket, starter.Ensure)
	defer client.Close()
	state := filepath.Dir(filepath.Dir(dir)) // of the owner of the job
	argv, err := executorArgv(filepath.Join(state, "bin"))
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(e.Stderr, nil))
	return coordinator.Run(ctx, coordinator.Config{
		Dir: dir, Blobs: filepath.Join(state, "blobs"), FS: disk,
		Gang:      local.Opener{Dir: dir, Executor: argv, Client: client, Log: log},
		Framework: knownFramework, Listen: "127.0.0.1:0", Cgroup: "muster", Version: version.String(), Log: log,
	})
}

// executorArgv is the command line of an executor: the small binary that this
// one carries, else this one itself.
func executorArgv(dir string) ([]string, error) {
	path, err := embedded.Executor(dir)
	if err != nil {
		return nil, err
	}
	if path == "" {
		return executor.Self("executor"), nil
	}
	return []string{path}, nil
}

func knownFramework(name string) (framework.Framework, error) {
	if f := frameworkOf(name); f != nil {
		return f, nil
	}
	return nil, fmt.Errorf("framework: %q is not known to muster %s", name, version.String())
}

// seal ends a job whose coordinator cannot live.
func seal(ctx context.Context, dir, reason string) error {
	return coordinator.Seal(ctx, disk, dir, coordinator.Broken(dir, reason), version.String())
}
