package framework

import (
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

// CheckReady warns of waits that no port ever ends. silent says that not every
// task of a role listens on the role's first port.
func CheckReady(d *plan.Draft, silent func(r *plan.Role) bool) {
	for _, r := range d.Plan.Roles {
		for _, a := range r.After {
			if f := d.Plan.Role(a.Role); a.Is == spec.Ready && f != nil && silent(f) {
				d.Report(plan.Finding{
					Path:    "roles." + r.Name + ".after",
					Problem: "not every task of " + a.Role + " listens on its first port: they are ready once they create the file $MUSTER_READY_FILE",
					Warning: true,
				})
			}
		}
	}
}
