package cli

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/plan"
)

// topEvery is how often top looks; processor use is what was used in between.
const topEvery = time.Second

func (e *Env) topCommand() *cobra.Command {
	var out output
	cmd := &cobra.Command{
		Use: "top [JOB]", GroupID: "watch", Short: "show what the tasks of a job use now, and how far they are",
		Long: "Show processors, memory and processes of each task, again and again on a terminal until Ctrl-C\n" +
			"or the end of the job, once elsewhere.\n" + jobWord + ".",
		Example:           "  muster top\n  muster top m-7k3f -o json",
		Args:              count(0, 1, "JOB"),
		ValidArgsFunction: e.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			j, err := e.one(cmd.Context(), args)
			if err != nil {
				return err
			}
			ctx, stop := e.until(cmd.Context())
			defer stop()
			if isTerminal(e.Stdout) && !out.data() {
				return e.topLive(ctx, j)
			}
			return e.topOnce(ctx, j, &out)
		},
	}
	e.atFlags(cmd)
	out.flag(cmd, "text", "json", "yaml")
	return cmd
}

// topRow is what one task uses.
type topRow struct {
	Task      plan.TaskID `json:"task"`
	State     string      `json:"state"`
	CPUs      float64     `json:"cpus"` // processors used, between two looks
	Memory    int64       `json:"memory"`
	Limit     int64       `json:"memory_limit,omitempty"`
	Processes int         `json:"processes"`
	Devices   []string    `json:"devices,omitempty"`
	// Progress is the newest that the task told; nil: none.
	Progress *event.Progress `json:"progress,omitempty"`
}

func (e *Env) topOnce(ctx context.Context, j job, out *output) error {
	rows, _, err := e.topRows(ctx, j, topEvery/2)
	if err != nil {
		return err
	}
	if out.data() {
		return out.write(e.Stdout, rows)
	}
	return topTable(e.Stdout, rows)
}

func (e *Env) topLive(ctx context.Context, j job) error {
	s := e.screen()
	defer s.clear()
	for {
		rows, r, err := e.topRows(ctx, j, topEvery)
		if err != nil {
			if ctx.Err() != nil {
				return nil // Ctrl-C is how top is left
			}
			return err
		}
		var b strings.Builder
		if err := topTable(&b, rows); err != nil {
			return err
		}
		_, height := e.Size(s.err)
		lines := append(boardOf(r, e.Now()).lines(s.width()), strings.Split(strings.TrimRight(b.String(), "\n"), "\n")...)
		s.draw(lines[:min(len(lines), max(1, height-1))])
		if !r.Ended.IsZero() {
			s.clear()
			fmt.Fprintln(s.err, lines[0])
			return nil
		}
	}
}

// topRows looks twice, with a pause between.
func (e *Env) topRows(ctx context.Context, j job, pause time.Duration) ([]topRow, *report, error) {
	r, err := e.inspect(ctx, j)
	if err != nil {
		return nil, nil, err
	}
	look, done := e.measurer(j, r)
	defer done()
	before, err := look(ctx)
	if err != nil {
		return nil, nil, err
	}
	at := e.Now()
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
	after, err := look(ctx)
	if err != nil {
		return nil, nil, err
	}
	passed := e.Now().Sub(at)
	rows := []topRow{}
	for _, t := range r.Tasks {
		u := after[t.Task]
		row := topRow{Task: t.Task, State: t.State, Memory: u.Memory, Processes: u.Procs, Devices: t.Devices, Progress: t.Progress}
		if passed > 0 {
			row.CPUs = max(0, float64(u.CPU-before[t.Task].CPU)/float64(passed))
		}
		if role := j.Plan.Role(t.Task.Role); role != nil {
			row.Limit = role.Resources.Memory
		}
		rows = append(rows, row)
	}
	return rows, r, nil
}

// measurer looks at what tasks use: at the processes of this machine, or at what
// a coordinator on a cluster heard of them.
func (e *Env) measurer(j job, r *report) (look func(context.Context) (map[plan.TaskID]usage, error), done func()) {
	if j.remote == nil {
		return func(context.Context) (map[plan.TaskID]usage, error) { return measure(r.Tasks), nil }, func() {}
	}
	l := e.live(j)
	return l.measure, l.close
}

func topTable(w io.Writer, rows []topRow) error {
	var cells [][]string
	for _, r := range rows {
		limit := "-"
		if r.Limit > 0 {
			limit = size(r.Limit)
		}
		step, pace, loss := progressCells(r.Progress)
		cells = append(cells, []string{r.Task.String(), r.State, fmt.Sprintf("%.2f", r.CPUs), size(r.Memory), limit,
			strconv.Itoa(r.Processes), step, pace, loss, dash(joined(r.Devices))})
	}
	return table(w, []string{"TASK", "STATE", "CPUS", "MEMORY", "LIMIT", "PROCESSES", "STEP", "STEP TIME", "LOSS", "DEVICES"}, cells)
}

// progressCells are a task's progress in a table: "4/10", "20ms", "0.5".
func progressCells(p *event.Progress) (step, pace, loss string) {
	if p == nil {
		return "-", "-", "-"
	}
	if p.Step > 0 || p.Total > 0 {
		step = strconv.FormatInt(p.Step, 10)
	}
	if p.Total > 0 {
		step += "/" + strconv.FormatInt(p.Total, 10)
	}
	if v, ok := p.Loss(); ok {
		loss = fmt.Sprintf("%.4g", v)
	}
	return dash(step), dash(p.Pace()), dash(loss)
}
