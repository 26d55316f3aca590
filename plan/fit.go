package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/muster-project/muster/spec"
)

// Node is one machine that a backend can hand out slots of, as large as it is
// when nothing runs on it.
type Node struct {
	Name string
	Resources
}

// CheckFit says what can never fit on nodes even with nothing else there: a
// task larger than any node, a gang larger than all nodes together, more tasks
// with one fixed port than there are nodes. Memory 0 asks for none.
func CheckFit(p *Plan, nodes []Node) []Finding {
	if len(nodes) == 0 {
		return []Finding{{Path: "roles", Problem: fmt.Sprintf("%q has no node", p.Backend)}}
	}
	var out []Finding
	for i := range p.Roles {
		out = append(out, checkTask(&p.Roles[i], nodes)...)
	}
	if len(out) > 0 {
		return out // what holds no task holds no gang
	}
	for stage := 0; ; stage++ {
		var gang []*Role
		for i := range p.Roles {
			if p.Roles[i].Stage == stage {
				gang = append(gang, &p.Roles[i])
			}
		}
		if len(gang) == 0 {
			return out
		}
		out = append(out, checkGang(gang, nodes)...)
	}
}

// dimension is one thing that a node runs out of.
type dimension struct {
	key   string
	of    func(Resources) float64
	print func(float64) string
}

var dimensions = []dimension{
	{"gpus", func(r Resources) float64 { return float64(r.GPUs) }, func(v float64) string { return fmt.Sprintf("%g", v) }},
	{"memory", func(r Resources) float64 { return float64(r.Memory) }, printBytes},
	{"cpus", func(r Resources) float64 { return r.CPUs }, func(v float64) string { return fmt.Sprintf("%g", v) }},
}

// slack forgives what adding fractions of a processor loses.
const slack = 1e-6

func checkTask(r *Role, nodes []Node) []Finding {
	var out []Finding
	for _, d := range dimensions {
		largest := 0.0
		for _, n := range nodes {
			largest = max(largest, d.of(n.Resources))
		}
		if ask := d.of(r.Resources); ask > largest+slack {
			out = append(out, Finding{
				Path:    "roles." + r.Name + "." + d.key,
				Problem: fmt.Sprintf("%s asked, the largest node has %s", d.print(ask), d.print(largest)),
			})
		}
	}
	if len(out) == 0 && !slices.ContainsFunc(nodes, func(n Node) bool { return fitting(r, n.Resources) > 0 }) {
		out = append(out, Finding{
			Path:    "roles." + r.Name,
			Problem: fmt.Sprintf("no node has %s together", describe(r.Resources)),
		})
	}
	return out
}

// checkGang refuses only what is certain: sums that are too large, or a search
// through all placements that found none. Where the search would take too long
// it warns.
func checkGang(gang []*Role, nodes []Node) []Finding {
	var out []Finding
	for _, d := range dimensions {
		asked, there := 0.0, 0.0
		var parts []string
		for _, r := range gang {
			if v := d.of(r.Resources); v > 0 {
				asked += v * float64(r.Instances.Min)
				parts = append(parts, fmt.Sprintf("%s %d × %s", r.Name, r.Instances.Min, d.print(v)))
			}
		}
		for _, n := range nodes {
			there += d.of(n.Resources)
		}
		if asked > there+slack {
			out = append(out, Finding{
				Path:    pathOf(gang, d.key),
				Problem: fmt.Sprintf("%s %s asked at once (%s), all nodes together have %s", d.print(asked), d.key, strings.Join(parts, ", "), d.print(there)),
				Hint:    "ask for fewer tasks or smaller ones, or for a range of instances",
			})
		}
	}
	out = append(out, checkPorts(gang, len(nodes))...)
	if len(out) > 0 {
		return out
	}
	fits, sure := pack(gang, nodes)
	if fits {
		return nil
	}
	var parts []string
	for _, r := range gang {
		parts = append(parts, fmt.Sprintf("%s %d × (%s)", r.Name, r.Instances.Min, describe(r.Resources)))
	}
	f := Finding{
		Path:    pathOf(gang, "instances"),
		Problem: fmt.Sprintf("%s: no way was found to place all of them at once on %s", strings.Join(parts, ", "), count(len(nodes), "node")),
		Warning: !sure,
	}
	return append(out, f)
}

// checkPorts finds fixed ports that more tasks ask for than there are nodes.
func checkPorts(gang []*Role, nodes int) []Finding {
	var out []Finding
	asked := map[int]int{}
	for _, r := range gang {
		for _, port := range r.Ports {
			if port.Number == 0 {
				continue
			}
			asked[port.Number] += r.Instances.Min
			if n := asked[port.Number]; n > nodes {
				out = append(out, Finding{
					Path:    "roles." + r.Name + ".ports." + port.Name,
					Problem: fmt.Sprintf("%d asked by %s at once, but a node has it once and there is %s", port.Number, count(n, "task"), count(nodes, "node")),
					Hint:    "write 0 for any free port, seen as MUSTER_PORT_…",
				})
			}
		}
	}
	return out
}

func pathOf(gang []*Role, key string) string {
	if len(gang) == 1 {
		return "roles." + gang[0].Name + "." + key
	}
	return "roles"
}

func describe(r Resources) string {
	parts := []string{fmt.Sprintf("%g cpus", r.CPUs)}
	if r.Memory > 0 {
		parts = append(parts, printBytes(float64(r.Memory))+" memory")
	}
	if r.GPUs > 0 {
		parts = append(parts, fmt.Sprintf("%d gpus", r.GPUs))
	}
	return strings.Join(parts, ", ")
}

func printBytes(v float64) string { return spec.Size(v).Rough() }

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
