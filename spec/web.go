package spec

import "slices"

// commands are what roles of these names run where their author wrote nothing.
// Both listen on the task's first port, at the address under which others reach
// the task, and are shown to people by their address.
var commands = map[string]string{
	"tensorboard": `exec python3 -m tensorboard.main --logdir "${TB_LOG_DIR:-$MUSTER_CHECKPOINT_DIR}" --host "$MUSTER_HOST" --port "$MUSTER_PORT"`,
	"notebook": `app=notebook; python3 -c 'import importlib.util as u, sys; sys.exit(u.find_spec("jupyterlab") is None)' && app=jupyterlab
exec python3 -m "$app" --no-browser --ip "$MUSTER_HOST" --port "$MUSTER_PORT" --ServerApp.port_retries=0 --ServerApp.allow_root=True`,
}

// DefaultCommand is what a role of this name runs where its author wrote
// nothing; zero for names that mean no program.
func DefaultCommand(role string) Command { return Command{Shell: commands[role]} }

// workKeys say what the work of a job is and what it needs. A role that has a
// program of its own serves that work, so these don't pass from the top level to it.
var workKeys = []string{"command", "procs", "cpus", "memory", "gpus"}

// inherits says that a role takes a key from the top level.
func inherits(role, key string) bool { return inherited(key) && !ofTheWork(role, key) }

// ofTheWork says that a key is about the work, and that the role only serves it.
func ofTheWork(role, key string) bool {
	return !DefaultCommand(role).IsZero() && slices.Contains(workKeys, key)
}
