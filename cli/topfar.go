package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/muster-project/muster/page"
	"github.com/muster-project/muster/plan"
)

// measure is what the tasks of a job on a cluster use, as their executors
// told the coordinator. Nothing while nobody can be asked.
func (l *live) measure(ctx context.Context) (map[plan.TaskID]usage, error) {
	body, err := l.get(ctx, "usage.json")
	if errors.Is(err, errNoPage) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer body.Close()
	var list []page.Used
	if err := json.NewDecoder(body).Decode(&list); err != nil {
		return nil, fmt.Errorf("%s: its coordinator's answer is not understood: %w", l.job.ID, err)
	}
	out := map[plan.TaskID]usage{}
	for _, u := range list {
		out[u.Task] = usage{CPU: u.CPU, Memory: u.Memory, Procs: u.Procs}
	}
	return out, nil
}
