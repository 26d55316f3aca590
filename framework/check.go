package framework

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

// Check reports what is wrong for every framework: variables that we set
// ourselves, and ports that one variable would have to name. reserved says
// which variables the framework sets beyond MUSTER_.
func Check(d *plan.Draft, reserved func(name string) bool) {
	p := d.Plan
	reserve(d, "env", p.Env, reserved)
	for _, r := range p.Roles {
		path := "roles." + r.Name
		reserve(d, path+".env", r.Env, reserved)
		seen := map[string]string{}
		for _, port := range r.Ports {
			v := PortVariable(port.Name)
			if other, taken := seen[v]; taken {
				d.Report(plan.Finding{
					Path:    path + ".ports." + port.Name,
					Problem: fmt.Sprintf("%q and %q would both be %s", other, port.Name, v),
					Hint:    "variables have letters, digits and underscores only, and no lower case: rename one",
				})
			}
			seen[v] = port.Name
		}
	}
}

func reserve(d *plan.Draft, path string, env map[string]spec.EnvValue, reserved func(string) bool) {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if strings.HasPrefix(name, "MUSTER_") || reserved != nil && reserved(name) {
			d.Report(plan.Finding{
				Path:    path + "." + name,
				Problem: fmt.Sprintf("reserved: muster sets it for every %s task, the value written here is not used", d.Plan.Framework),
				Warning: true,
			})
		}
	}
}

// AddPort gives a role a port, unless the author named one so. First puts it
// before the author's own: the first port is MUSTER_PORT, and a task is ready
// once something listens there.
func AddPort(r *plan.Role, name string, first bool) {
	if slices.ContainsFunc(r.Ports, func(p plan.Port) bool { return p.Name == name }) {
		return
	}
	if first {
		r.Ports = slices.Insert(r.Ports, 0, plan.Port{Name: name})
		return
	}
	r.Ports = append(r.Ports, plan.Port{Name: name})
}
