package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/internal/frugal"
)

// runFlags are those of run and submit that do not describe the job.
type runFlags struct {
	jobFlags
	out    output
	dryRun bool
	detach bool
}

func (e *Env) runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use: "run FILE | -- COMMAND…", GroupID: "start", Short: "run a job and follow it to its end",
		Long: "Run a job and follow it: its state, its logs, its verdict. Everything after -- is your command,\n" +
			"executed as it is. Of the lines of torchrun, mpirun, horovodrun, deepspeed, accelerate launch and\n" +
			"Paddle's launcher counts are taken over, unless --framework plain says that they are commands like any other.\n\n" +
			"Ctrl-C asks whether to detach or to stop; a second Ctrl-C stops. Without a terminal INT and TERM\n" +
			"stop the job, a second one at once; HUP detaches: the job goes on.\n\n" +
			"Exit status: 0 the job succeeded, else the first failing task's own (128+n for signal n);\n" +
			"muster's own are 64 usage, 65 job file, 69 refused or unreachable, 70 muster's fault,\n" +
			"75 worth retrying, 124 timed out, 130 stopped. -o json says whose it is (origin: task or muster).",
		Example: "  muster run job.yaml\n" +
			"  muster run -N 2 --framework pytorch -- python train.py --epochs 3\n" +
			"  muster run -- torchrun --nnodes 2 --nproc-per-node 2 train.py\n" +
			"  muster run job.yaml --role worker=4 --set roles.worker.memory=8GiB",
		ValidArgsFunction: completeJobFiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.run(cmd, &f, args, f.detach)
		},
	}
	f.add(cmd)
	e.whoFlags(cmd)
	cmd.Flags().BoolVar(&f.detach, "detach", false, "do not follow: as submit")
	return cmd
}

func (e *Env) submitCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use: "submit FILE | -- COMMAND…", GroupID: "start", Short: "submit a job and print its id",
		Example:           "  id=$(muster submit job.yaml) && muster wait $id",
		ValidArgsFunction: completeJobFiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.run(cmd, &f, args, true)
		},
	}
	f.add(cmd)
	e.whoFlags(cmd)
	return cmd
}

func (f *runFlags) add(cmd *cobra.Command) {
	f.jobFlags.add(cmd)
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "show the plan and submit nothing")
	f.out.flag(cmd, "text", "json", "yaml", "name")
}

func (e *Env) run(cmd *cobra.Command, f *runFlags, args []string, detached bool) error {
	j, err := e.start(cmd, f, args)
	if err != nil || f.dryRun {
		return err
	}
	if detached {
		return e.printSubmitted(j, &f.out)
	}
	fmt.Fprintf(e.Stderr, "muster: job %s (%s): %s on %s\n", j.ID, j.Plan.Name, plural(len(j.Plan.Tasks()), "task"), j.Plan.Backend)
	return e.see(cmd.Context(), j, &f.out)
}

// start takes a job from the command line to the backend.
func (e *Env) start(cmd *cobra.Command, f *runFlags, args []string) (job, error) {
	ctx, stop := e.until(cmd.Context())
	defer stop()
	a, err := e.assemble(ctx, cmd, &f.jobFlags, args)
	if err != nil {
		return job{}, orInterruption(ctx, err)
	}
	defer a.close()
	if w := foreignBytes(e.Environ); w != "" {
		a.plan.Warnings = append(a.plan.Warnings, w)
	}
	a.tellNotes(e.Stderr)
	for _, w := range a.plan.Warnings {
		fmt.Fprintf(e.Stderr, "muster: warning: %s\n", w)
	}
	if f.dryRun {
		return job{}, e.printPlan(a.plan, &f.out)
	}
	tell := func(format string, args ...any) { fmt.Fprintf(e.Stderr, "muster: "+format+"\n", args...) }
	if err := e.stageFor(ctx, a, tell); err != nil {
		return job{}, orInterruption(ctx, err)
	}
	ref, err := a.backend.Submit(ctx, backend.Submission{Plan: a.plan, Environ: e.Environ, Dir: e.Dir, Umask: umask()})
	if err != nil {
		return job{}, orInterruption(ctx, refused(err))
	}
	if _, away := a.backend.(backend.Home); away {
		return e.submittedAway(ctx, a, ref)
	}
	return job{ID: ref.Job, Dir: ref.Dir, Plan: a.plan, Submitted: e.Now()}, nil
}

// stageFor makes what tasks find in their work directories available where the
// job will run.
func (e *Env) stageFor(ctx context.Context, a *assembly, tell func(format string, args ...any)) error {
	s, ok := a.backend.(backend.Stager)
	if !ok {
		if err := e.stagePython(ctx, a, a.client); err != nil {
			return err
		}
		return e.stage(ctx, a.plan, a.client, tell)
	}
	pack, err := e.packs()
	if err != nil {
		return err
	}
	if err := e.stagePython(ctx, a, pack); err != nil {
		return err
	}
	if err := e.stage(ctx, a.plan, pack, tell); err != nil {
		return err
	}
	return refused(s.Stage(ctx, a.plan, pack.paths, tell))
}

// submittedAway notes a job on a cluster, and sees to it that somebody tends it
// when this command is gone.
func (e *Env) submittedAway(ctx context.Context, a *assembly, ref backend.Ref) (job, error) {
	on := a.resolved.Job.On
	n := note{Ref: ref, On: on, Conf: e.hadoopConf(siteOf(on)), User: e.ownerOf(a.backend), Plan: a.plan, Submitted: e.Now()}
	if p, ok := a.backend.(prover); ok {
		n.Keytab, n.Principal, n.Cache = p.Proves()
	}
	j, err := e.remember(n)
	if err != nil {
		return job{}, err
	}
	j.remote.backend = a.backend
	frugal.Drop() // from here on we only wait
	if err := e.wakeOwn(ctx); err != nil {
		fmt.Fprintf(e.Stderr, "muster: warning: nobody on this machine tends %s when this command ends: %v\n", j.ID, err)
	}
	return j, nil
}

// umask is the file mode mask of this process. The system call that asks for it
// also changes it, for every thread; /proc only tells.
func umask() int {
	status, _ := os.ReadFile("/proc/self/status")
	for line := range bytes.Lines(status) {
		if v, ok := bytes.CutPrefix(line, []byte("Umask:")); ok {
			if n, err := strconv.ParseInt(string(bytes.TrimSpace(v)), 8, 32); err == nil {
				return int(n)
			}
		}
	}
	return 0o022
}

// printSubmitted gives the id to programs and the next steps to people.
func (e *Env) printSubmitted(j job, out *output) error {
	if out.data() {
		return out.write(e.Stdout, struct {
			ID   string `json:"id"`
			Name string `json:"name"`
			Dir  string `json:"dir"`
		}{j.ID, j.Plan.Name, j.Dir})
	}
	if _, err := fmt.Fprintln(e.Stdout, j.ID); err != nil {
		return err
	}
	if out.format == "text" {
		fmt.Fprintf(e.Stderr, "muster: submitted (%s): %s on %s\n", j.Plan.Name, plural(len(j.Plan.Tasks()), "task"), j.Plan.Backend)
		e.printNext(j)
	}
	return nil
}

func (e *Env) printNext(j job) {
	fmt.Fprintf(e.Stderr, "hint: muster logs -f %s follows it, muster wait %s waits, muster stop %s stops it\n", j.ID, j.ID, j.ID)
}

// see follows a job to its end and ends with its status.
func (e *Env) see(ctx context.Context, j job, out *output) error {
	o, err := e.follow(ctx, j, out.data() || out.format == "name")
	var left detached
	switch {
	case errors.As(err, &left):
		fmt.Fprintf(e.Stderr, "muster: detached: %s goes on\n", j.ID)
		e.printNext(j)
		if left.signal != 0 {
			return interruption(left)
		}
		return nil
	case err != nil:
		fmt.Fprintf(e.Stderr, "muster: %s may go on: muster status %s\n", j.ID, j.ID)
		return err
	}
	if out.data() {
		if err := out.write(e.Stdout, ending{j.ID, j.Plan.Name, o}); err != nil {
			return err
		}
	} else if out.format == "name" {
		fmt.Fprintln(e.Stdout, j.ID)
	}
	e.printEnd(j, o)
	fmt.Fprintf(e.Stderr, "logs: muster logs %s; history: muster events %s; files: %s\n", j.ID, j.ID, e.home(j.Dir))
	if o.State == event.Succeeded && o.Status == 0 {
		return nil
	}
	return verdictStatus(o.Status)
}

// detached is the end of run while its job goes on, by an answer or a signal.
type detached struct{ signal syscall.Signal }

func (detached) Error() string { return "detached" }
