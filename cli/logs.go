package cli

import (
	"bufio"
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

// logsFlags are the flags of logs as they were typed.
type logsFlags struct {
	follow      bool
	since       string
	tail        int
	tasks       []string
	roles       []string
	grep        string
	stream      string
	incarnation int
	plain       bool
	data        bool // as api.Line in JSON
}

func (e *Env) logsCommand() *cobra.Command {
	var f logsFlags
	cmd := &cobra.Command{
		Use: "logs [JOB]", GroupID: "watch", Short: "show what the tasks of a job printed",
		Long: "Show what the tasks of a job printed, merged by time, each line with its task in front. Standard\n" +
			"output and error go to ours. It reads the files of the job, so it also works after its end and\n" +
			"while nothing of muster runs.\n" + jobWord + ".",
		Example: "  muster logs -f\n" +
			"  muster logs m-7k3f --task worker/3 --tail 100\n" +
			"  muster logs digits --role ps --since 10m --grep 'loss|error'",
		Args:              count(0, 1, "JOB"),
		ValidArgsFunction: e.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			j, err := e.one(cmd.Context(), args)
			if err != nil {
				return err
			}
			ctx, stop := e.until(cmd.Context())
			defer stop()
			return e.logs(ctx, j, f)
		},
	}
	e.atFlags(cmd)
	f.flags(cmd.Flags())
	return cmd
}

func (f *logsFlags) flags(s *pflag.FlagSet) {
	s.SortFlags = false
	s.BoolVarP(&f.follow, "follow", "f", false, "go on until the job has ended")
	s.StringVar(&f.since, "since", "", "lines from the last 10m, 2h, … or from a time such as 2026-11-30T18:00:00")
	s.IntVarP(&f.tail, "tail", "n", -1, "only the last lines, of all tasks together")
	s.StringArrayVar(&f.tasks, "task", nil, "only this task, as in worker/3")
	s.StringArrayVar(&f.roles, "role", nil, "only the tasks of this role")
	s.StringVar(&f.grep, "grep", "", "only lines that match a regular expression")
	s.StringVar(&f.stream, "stream", "", "only out or err")
	s.IntVar(&f.incarnation, "incarnation", 0, "only this start of each task, counted from 1")
	s.IntVar(&f.incarnation, "attempt", 0, "")
	_ = s.MarkHidden("attempt")
	s.BoolVar(&f.plain, "no-prefix", false, "without the task in front")
	for name, what := range map[string]string{"since": "TIME", "tail": "N", "task": "TASK", "role": "ROLE", "grep": "REGEXP", "stream": "STREAM", "incarnation": "N"} {
		named(s.Lookup(name), what)
	}
	s.Lookup("tail").DefValue = ""
}

// filter turns the flags into a filter, with all problems at once.
func (e *Env) filter(f logsFlags, r *report) (logFilter, error) {
	var out logFilter
	var err error
	if out.tasks, err = chooseTasks(r, f.tasks, f.roles); err != nil {
		return out, err
	}
	if f.stream != "" {
		if err := choice("--stream", f.stream, "out", "err"); err != nil {
			return out, err
		}
	}
	if f.grep != "" {
		if out.grep, err = regexp.Compile(f.grep); err != nil {
			return out, faultf(exitUsage, "--grep %s: %s", f.grep, strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		}
	}
	if f.since != "" {
		if out.since, err = sinceTime(f.since, e.Now()); err != nil {
			return out, err
		}
	}
	out.stream, out.incarnation = f.stream, f.incarnation
	return out, nil
}

// sinceTime reads a duration back from now, or a time.
func sinceTime(text string, now time.Time) (time.Time, error) {
	if d, err := spec.ParseDuration(text); err == nil {
		return now.Add(-time.Duration(d)), nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", time.DateTime, "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly, "15:04:05", "15:04"} {
		t, err := time.ParseInLocation(layout, text, now.Location())
		if err != nil {
			continue
		}
		if t.Year() == 0 { // a time of today
			t = time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), t.Second(), 0, now.Location())
		}
		return t, nil
	}
	return time.Time{}, faultf(exitUsage, "--since %s: neither a duration nor a time", text).hint("as in --since 10m or --since 2026-11-30T18:00:00")
}

func (e *Env) logs(ctx context.Context, j job, f logsFlags) error {
	r, err := e.inspect(ctx, j)
	if err != nil {
		return err
	}
	filter, err := e.filter(f, r)
	if err != nil {
		return err
	}
	l := &logShow{env: e, job: j, merge: logMerge{filter: filter}, painter: newPainter(j.Plan, e.Color(e.Stdout)), plain: f.plain, data: f.data, out: bufio.NewWriterSize(e.Stdout, 64<<10)}
	if j.served != nil {
		return l.served(ctx, f)
	}
	if l.mirror, err = e.mirrorOf(j, f.follow); err != nil {
		return err
	}
	defer l.merge.close()
	if err := l.fetch(ctx, r); err != nil {
		return err
	}
	if err := l.read(ctx); err != nil {
		return err
	}
	if f.tail >= 0 {
		if err := l.tail(f.tail, !f.follow || !r.Ended.IsZero()); err != nil {
			return err
		}
	} else if err := l.all(!f.follow || !r.Ended.IsZero()); err != nil {
		return err
	}
	if f.follow && r.Ended.IsZero() {
		return l.follow(ctx)
	}
	if len(l.merge.known) == 0 && !f.data {
		l.nothing()
	}
	return nil
}

func (l *logShow) nothing() {
	fmt.Fprintf(l.env.Stderr, "muster: %s: no task has started yet\n", l.job.ID)
}

// logShow prints the logs of one job.
type logShow struct {
	env     *Env
	job     job
	mirror  *mirror
	merge   logMerge
	painter *painter
	plain   bool
	data    bool
	out     *bufio.Writer // standard output: a write for each line takes longer than the line
}

// fetch brings the logs of a job on a cluster to this machine.
func (l *logShow) fetch(ctx context.Context, r *report) error {
	for _, t := range r.Tasks {
		if t.Incarnation > 0 && t.Ended.IsZero() {
			l.mirror.watch(t.Task, t.Incarnation)
		}
	}
	return l.mirror.now(ctx)
}

// read opens the logs of all incarnations in the journal.
func (l *logShow) read(ctx context.Context) error {
	for ev, err := range l.env.journal(ctx, l.job, false) {
		if err != nil {
			return fmt.Errorf("%s: journal: %w", l.job.ID, err)
		}
		if b, ok := ev.Body.(*event.TaskStarted); ok {
			if err := l.open(b.Task, b.Incarnation); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *logShow) open(id plan.TaskID, incarnation int) error {
	procs := 1
	if r := l.job.Plan.Role(id.Role); r != nil {
		procs = max(1, r.Procs)
	}
	return l.merge.open(l.job.files(), id, incarnation, procs)
}

func (l *logShow) all(rest bool) error {
	_, err := l.merge.pump(-1, rest, l.print)
	if flushed := l.out.Flush(); err == nil {
		err = flushed
	}
	return err
}

// tail keeps the last n lines of what is there now.
func (l *logShow) tail(n int, rest bool) error {
	var last []logLine
	_, err := l.merge.pump(-1, rest, func(line *logLine) error {
		last = append(last, *line)
		if len(last) > 2*n+1000 {
			last = append([]logLine(nil), last[len(last)-n:]...)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, line := range last[max(0, len(last)-n):] {
		if err := l.print(&line); err != nil {
			return err
		}
	}
	return l.out.Flush()
}

// logEvery is how often followed logs are looked at.
const logEvery = 100 * time.Millisecond

// follow goes on until the job is sealed: then everything is in the files.
func (l *logShow) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	facts, done := make(chan fact), make(chan struct{})
	go func() {
		defer close(done)
		for ev, err := range l.env.journal(ctx, l.job, true) {
			select {
			case facts <- fact{ev, err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	defer func() { cancel(); <-done }()
	l.mirror.start(ctx)
	defer l.mirror.stop()
	var settled <-chan struct{}
	tick := time.NewTicker(logEvery)
	defer tick.Stop()
	var started []incarnation // their files may not be there yet
	for {
		select {
		case f := <-facts:
			if f.err != nil {
				return orInterruption(ctx, f.err)
			}
			switch b := f.event.Body.(type) {
			case *event.TaskStarted:
				started = append(started, incarnation{b.Task, b.Incarnation})
				l.mirror.watch(b.Task, b.Incarnation)
			case *event.JobFinished:
				settled = l.mirror.finish()
			}
		case <-settled:
			if err := l.openAll(started); err != nil {
				return err
			}
			return l.all(true)
		case <-tick.C:
			if err := l.openAll(started); err != nil {
				return err
			}
			if err := l.all(false); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (l *logShow) openAll(started []incarnation) error {
	for _, s := range started {
		if err := l.open(s.task, s.number); err != nil {
			return err
		}
	}
	return nil
}
