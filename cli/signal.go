package cli

import (
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/session"
	"github.com/muster-project/muster/spec"
)

func (e *Env) signalCommand() *cobra.Command {
	var tasks, roles []string
	cmd := &cobra.Command{
		Use: "signal [JOB] SIGNAL", GroupID: "steer", Short: "send a signal to the tasks of a job",
		Example: "  muster signal m-7k3f USR1\n" +
			"  muster signal digits INT --role worker\n" +
			"  muster signal digits 10 --task worker/3",
		Args:              count(1, 2, "SIGNAL"),
		ValidArgsFunction: e.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && strings.HasPrefix(args[0], "m-") {
				return faultf(exitUsage, "SIGNAL: is missing behind %s", args[0]).hint("as in: muster signal %s USR1", args[0])
			}
			name, err := signalName(args[len(args)-1])
			if err != nil {
				return err
			}
			j, err := e.one(cmd.Context(), args[:len(args)-1])
			if err != nil {
				return err
			}
			r, err := e.inspect(cmd.Context(), j)
			if err != nil {
				return err
			}
			chosen, err := chooseTasks(r, tasks, roles)
			if err != nil {
				return err
			}
			if !r.Ended.IsZero() {
				return faultf(exitRefused, "%s: has ended: %s", j.ID, r.State)
			}
			if err := e.sendSignal(cmd.Context(), j, name, chosen); err != nil {
				return err
			}
			what := "all tasks"
			if len(chosen) > 0 {
				what = taskList(chosen)
			}
			_, err = fmt.Fprintf(e.Stdout, "%s: %s sent to %s\n", j.ID, name, what)
			return err
		},
	}
	e.atFlags(cmd)
	cmd.Flags().StringArrayVar(&tasks, "task", nil, "only this task, as in worker/3")
	cmd.Flags().StringArrayVar(&roles, "role", nil, "only the tasks of this role")
	return cmd
}

// signalName gives the full name of a signal from USR1, sigusr1 or 10.
func signalName(word string) (string, error) {
	if n := atoi(word, 0); n > 0 {
		if name := unix.SignalName(syscall.Signal(n)); name != "" {
			return name, nil
		}
		return "", faultf(exitUsage, "%s: no signal has this number", word)
	}
	name := strings.ToUpper(word)
	if !strings.HasPrefix(name, "SIG") {
		name = "SIG" + name
	}
	if unix.SignalNum(name) != 0 {
		return name, nil
	}
	f := faultf(exitUsage, "%s: no such signal", word)
	if near := spec.Suggest(name, []string{"SIGHUP", "SIGINT", "SIGQUIT", "SIGKILL", "SIGUSR1", "SIGUSR2", "SIGTERM", "SIGCONT", "SIGSTOP"}); near != "" {
		return "", f.hint("did you mean %s?", strings.TrimPrefix(near, "SIG"))
	}
	return "", f.hint("as in USR1, TERM, INT; kill -l lists the signals")
}

// chooseTasks turns --task and --role into tasks of the job. Nothing chosen
// means all.
func chooseTasks(r *report, tasks, roles []string) ([]plan.TaskID, error) {
	var chosen []plan.TaskID
	for _, word := range tasks {
		id, err := plan.ParseTask(word)
		if err != nil {
			return nil, fault(exitUsage, err)
		}
		if !slices.ContainsFunc(r.Tasks, func(t session.TaskView) bool { return t.Task == id }) {
			return nil, faultf(exitUsage, "%s: %s has no such task", word, r.ID).hint("its tasks: %s", taskList(taskIDs(r)))
		}
		chosen = append(chosen, id)
	}
	for _, role := range roles {
		before := len(chosen)
		for _, t := range r.Tasks {
			if t.Task.Role == role && !slices.Contains(chosen, t.Task) {
				chosen = append(chosen, t.Task)
			}
		}
		if len(chosen) == before && !slices.ContainsFunc(r.Tasks, func(t session.TaskView) bool { return t.Task.Role == role }) {
			return nil, faultf(exitUsage, "%s: %s has no such role", role, r.ID).hint("its tasks: %s", taskList(taskIDs(r)))
		}
	}
	return chosen, nil
}

func taskIDs(r *report) []plan.TaskID {
	var ids []plan.TaskID
	for _, t := range r.Tasks {
		ids = append(ids, t.Task)
	}
	return ids
}

// taskList names the first few tasks: a job may have thousands.
func taskList(ids []plan.TaskID) string {
	const most = 8
	var words []string
	for _, id := range ids[:min(most, len(ids))] {
		words = append(words, id.String())
	}
	if len(ids) > most {
		words = append(words, fmt.Sprintf("and %d more", len(ids)-most))
	}
	return strings.Join(words, " ")
}
