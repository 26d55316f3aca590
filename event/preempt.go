package event

import (
	"fmt"
	"time"

	"github.com/muster-project/muster/plan"
)

// PreemptionAnnounced says that slots will be taken away at the deadline, and
// which tasks are told: those in the slots, and those that are started again with
// them. No slots: the job itself gives them back, because somebody asked for it.
type PreemptionAnnounced struct {
	Slots    []string      `json:"slots,omitempty"`
	Tasks    []plan.TaskID `json:"tasks"`
	Deadline time.Time     `json:"deadline"` // coordinator's clock
	Reason   string        `json:"reason,omitempty"`
}

// PreemptionWithdrawn says that slots stay after all, and which tasks need not end.
type PreemptionWithdrawn struct {
	Slots []string      `json:"slots"`
	Tasks []plan.TaskID `json:"tasks"`
}

// Type is "preemption.announced".
func (*PreemptionAnnounced) Type() string { return "preemption.announced" }

// Type is "preemption.withdrawn".
func (*PreemptionWithdrawn) Type() string { return "preemption.withdrawn" }

func announced(b *PreemptionAnnounced) string {
	what := "slots will be given back"
	if len(b.Slots) > 0 {
		what = plural(len(b.Slots), "slot") + " will be taken away"
	}
	return fmt.Sprintf("%s at %s%s; told: %s", what, b.Deadline.UTC().Format("15:04:05"), because(b.Reason), someTasks(b.Tasks))
}

func withdrawn(b *PreemptionWithdrawn) string {
	return fmt.Sprintf("%s not taken away after all; told: %s", plural(len(b.Slots), "slot"), someTasks(b.Tasks))
}

// someTasks lists tasks; none is nobody.
func someTasks(ids []plan.TaskID) string {
	if len(ids) == 0 {
		return "nobody"
	}
	return tasks(ids)
}
