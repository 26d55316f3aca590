package plan

import (
	"slices"
	"strings"

	"github.com/muster-project/muster/spec"
)

// order gives every role its stage. A role that waits until others have
// succeeded belongs to a later stage than they do: its slots are asked for
// only then, so that they are not held idle. A role that waits until others
// are started or ready shares their stage, or comes later for another reason.
func order(d *Draft) {
	p := d.Plan
	sound := true
	for _, r := range p.Roles {
		for _, a := range r.After {
			if p.Role(a.Role) == nil {
				d.refuse("roles."+r.Name+".after", "the roles are "+strings.Join(names(p), ", "), "no role is called %q", a.Role)
				sound = false
			}
		}
	}
	if !sound {
		return
	}
	if circle := findCircle(p); circle != nil {
		d.refuse("roles."+circle[0]+".after", "", "goes in a circle: %s", strings.Join(circle, " after "))
		return
	}
	// Stages only grow, and without a circle no chain is longer than the
	// number of roles: as many rounds settle everything.
	for range p.Roles {
		for i := range p.Roles {
			r := &p.Roles[i]
			for _, a := range r.After {
				stage := p.Role(a.Role).Stage
				if a.Is == spec.Succeeded {
					stage++
				}
				r.Stage = max(r.Stage, stage)
			}
		}
	}
	for _, r := range p.Roles {
		for _, a := range r.After {
			if f := p.Role(a.Role); a.Is == spec.Succeeded && !f.Wait && !f.EndsJob && d.Open(f.Name, "wait") {
				// Somebody does wait for it after all.
				f.Wait = true
			}
		}
	}
}

func names(p *Plan) []string {
	out := make([]string, len(p.Roles))
	for i, r := range p.Roles {
		out[i] = r.Name
	}
	return out
}

// findCircle returns roles that wait for each other, the first one again at
// the end, or nil.
func findCircle(p *Plan) []string {
	done := map[string]bool{}
	var path []string
	var visit func(name string) []string
	visit = func(name string) []string {
		if at := slices.Index(path, name); at >= 0 {
			return append(slices.Clone(path[at:]), name)
		}
		if done[name] {
			return nil
		}
		path = append(path, name)
		for _, a := range p.Role(name).After {
			if c := visit(a.Role); c != nil {
				return c
			}
		}
		path = path[:len(path)-1]
		done[name] = true
		return nil
	}
	for _, r := range p.Roles {
		if c := visit(r.Name); c != nil {
			return c
		}
	}
	return nil
}
