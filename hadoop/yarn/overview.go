package yarn

import (
	"context"
	"strings"
)

// Overview is what a scheduler goes by as a whole.
type Overview struct {
	Kind    string   // Capacity Scheduler, Fair Scheduler, …
	Counted []string // what the scheduler counts: memory alone under the DefaultResourceCalculator
	Min     Resource // of a container
	Max     Resource
}

// Overview reads it (3.3 on; a Refusal with status 404 before).
func (r *REST) Overview(ctx context.Context) (Overview, error) {
	var raw struct {
		Scheduler struct {
			Kind    text    `json:"schedulerType"`
			Counted text    `json:"schedulingResourceType"`
			Min     *amount `json:"minimumAllocation"`
			Max     *amount `json:"maximumAllocation"`
		} `json:"scheduler"`
	}
	if _, err := r.rm(ctx, "/ws/v1/cluster/scheduler-overview", nil, &raw); err != nil {
		return Overview{}, err
	}
	s := raw.Scheduler
	return Overview{Kind: string(s.Kind), Counted: partNames(string(s.Counted)), Min: s.Min.resource(), Max: s.Max.resource()}, nil
}

// partNames reads "memory-mb (unit=Mi),vcores,yarn.io/gpu" as well as the older
// "[MEMORY, CPU]".
func partNames(text string) []string {
	var out []string
	for word := range strings.SplitSeq(strings.Trim(text, "[]"), ",") {
		name, _, _ := strings.Cut(strings.TrimSpace(word), " ")
		switch name {
		case "":
			continue
		case "MEMORY", "memory":
			name = memoryName
		case "CPU", "cpu":
			name = vcoresName
		}
		out = append(out, name)
	}
	return out
}
