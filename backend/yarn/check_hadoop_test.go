//go:build hadoop

package yarn

import (
	"strings"
	"testing"

	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

// What the real cluster can never do is refused with its numbers, and what it
// can do is not.
func TestCheck(t *testing.T) {
	alice, bob := newClient(t, "alice", ""), newClient(t, "bob", "")
	native := func(m map[string]any) func(*plan.Plan) {
		return func(p *plan.Plan) { p.Native = map[string]any{Name: m} }
	}
	for _, c := range []struct {
		name   string
		client *Backend
		change func(*plan.Plan)
		path   string // of the refusal; empty for none
		text   string
	}{
		{"good", alice, func(*plan.Plan) {}, "", ""},
		{"good with a label", alice, func(p *plan.Plan) {
			p.Queue = "ml"
			native(map[string]any{"node_label": "gpu"})(p)
			p.Roles[0].Resources.GPUs = 4
		}, "", ""},
		{"good with constraints", alice, native(map[string]any{"placement": "spread"}), "", ""},
		{"unknown queue", alice, func(p *plan.Plan) { p.Queue = "defaul" }, "queue", "did you mean default"},
		{"not a leaf", alice, func(p *plan.Plan) { p.Queue = "root" }, "queue", "default"},
		{"no right", bob, func(p *plan.Plan) { p.Queue = "ml" }, "queue", "bob has no right to submit to ml, only alice has"},
		{"too large for any node", alice, func(p *plan.Plan) { p.Roles[0].Resources.Memory = 5 << 30 }, "roles.worker.memory", "5GiB asked, the largest container of queue default has 4GiB"},
		{"too many GPUs", alice, func(p *plan.Plan) { p.Roles[0].Resources.GPUs = 5 }, "roles.worker.gpus", "5 yarn.io/gpu asked, the largest container of queue default has 4"},
		{"unknown label", alice, native(map[string]any{"node_label": "gpuu"}), "native.yarn.node_label", "did you mean gpu?"},
		{"label out of reach", alice, native(map[string]any{"node_label": "gpu"}), "native.yarn.node_label", "queue default may not use nodes with the label gpu"},
		{"unknown resource", alice, native(map[string]any{"resources": map[string]any{"yarn.io/fpga": 1.0}}), "native.yarn.resources.yarn.io/fpga", "no such resource"},
		{"more than the queue has", bob, func(p *plan.Plan) {
			p.Queue = "small"
			p.Roles[0].Instances = spec.Count{Min: 9, Max: 9}
			p.Roles[0].Resources.Memory = 1 << 30
		},
			"roles.worker", "9.25GiB at once, queue small has at most 6GiB"},
		{"more than one user may have", bob, func(p *plan.Plan) {
			p.Queue = "small"
			p.Roles[0].Instances = spec.Count{Min: 3, Max: 3}
			p.Roles[0].Resources.Memory = 1 << 30
		},
			"roles.worker", "one user of queue small"},
		{"in pieces too large", alice, func(p *plan.Plan) {
			p.Queue = "ml"
			native(map[string]any{"node_label": "gpu"})(p)
			p.Roles[0].Instances = spec.Count{Min: 2, Max: 2}
			p.Roles[0].Resources.GPUs = 3
		},
			"roles.worker", "6 yarn.io/gpu at once, queue ml has at most 4 yarn.io/gpu"},
		{"priority", alice, func(p *plan.Plan) { p.Priority = 1000 }, "priority", "1000 asked"},
		{"image", alice, func(p *plan.Plan) { p.Roles[0].Image = "pytorch:2" }, "roles.worker.image", "no Docker"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlan(c.client.User, 1)
			c.change(p)
			found, err := c.client.Check(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			refused := plan.Refuse(found)
			if c.path == "" {
				if refused != nil {
					t.Errorf("refused: %v", refused)
				}
				return
			}
			for _, f := range found {
				if !f.Warning && f.Path == c.path && strings.Contains(f.String(), c.text) {
					return
				}
			}
			t.Errorf("%v, want %s: … %s", refused, c.path, c.text)
		})
	}
}
