package session

import (
	"cmp"
	"slices"
	"strings"

	"github.com/muster-project/muster/plan"
)

// Address is where people can look at a running task with a browser: a value
// that it published and that begins as such an address does.
type Address struct {
	Task plan.TaskID `json:"task"`
	Key  string      `json:"key"`
	URL  string      `json:"url"`
}

// Addresses lists those of all tasks that run.
func (v View) Addresses() []Address {
	var out []Address
	for _, t := range v.Tasks {
		if !t.Ended.IsZero() || t.Started.IsZero() {
			continue
		}
		for key, value := range t.Published {
			if strings.HasPrefix(value, "http://") || strings.HasPrefix(value, "https://") {
				out = append(out, Address{t.Task, key, value})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Address) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Task.Role, b.Task.Role), a.Task.Index-b.Task.Index)
	})
	return out
}
