package plan

import "github.com/muster-project/muster/spec"

// order gives every role its stage. A role that waits until others have
// succeeded belongs to a later stage than they do: its slots are asked for
// only then, so that they are not held idle. A role that waits until others
// are started or ready shares their stage, or comes later for another reason.
//
// A checked job has no circle, so no chain is longer than the number of roles
// and as many rounds settle everything.
func order(p *Plan) {
	for i := range p.Roles {
		p.Roles[i].Stage = 0
	}
	for range p.Roles {
		for i := range p.Roles {
			r := &p.Roles[i]
			for _, a := range r.After {
				first := p.Role(a.Role)
				if first == nil {
					continue // refused by spec
				}
				stage := first.Stage
				if a.Is == spec.Succeeded {
					stage++
				}
				r.Stage = max(r.Stage, stage)
			}
		}
	}
}

// awaited are the roles that others wait to see succeed: whatever their names
// say, somebody waits for them.
func awaited(p *Plan) map[string]bool {
	out := map[string]bool{}
	for _, r := range p.Roles {
		for _, a := range r.After {
			if a.Is == spec.Succeeded {
				out[a.Role] = true
			}
		}
	}
	return out
}
