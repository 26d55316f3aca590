package yarn

import (
	"fmt"
	"slices"
	"strings"

	hadoop "github.com/muster-project/muster/hadoop/yarn"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

// Size is what a container is asked for, or has, or what a node or a queue has
// room for.
type Size = hadoop.Resource

// GPU is YARN's name of a GPU.
const GPU = hadoop.GPU

// Names of what every size has, as YARN writes them.
const (
	nameMemory = "memory-mb"
	nameCores  = "vcores"
)

// parts are the names in a size that are not zero, memory first.
func parts(s Size) []string {
	return slices.DeleteFunc(s.Names(), func(name string) bool { return s.Get(name) == 0 })
}

// say prints a size for people: 2GiB, 4 vcores, 1 yarn.io/gpu.
func say(s Size) string {
	var out []string
	for _, name := range parts(s) {
		out = append(out, amount(name, s.Get(name)))
	}
	if len(out) == 0 {
		return "nothing"
	}
	return strings.Join(out, ", ")
}

// amount prints one part of a size.
func amount(name string, n int64) string {
	switch name {
	case nameMemory:
		return spec.Size(n * mib).Rough()
	case nameCores:
		if n == 1 {
			return "1 vcore"
		}
		return fmt.Sprintf("%d vcores", n)
	}
	return fmt.Sprintf("%d %s", n, name)
}

// Scheduler is how the resource manager rounds sizes, and what it counts.
type Scheduler struct {
	Kind     string          `json:"kind"` // Capacity Scheduler, Fair Scheduler, …
	Rounding hadoop.Rounding `json:"rounding"`
	Sees     []string        `json:"sees,omitempty"` // parts of a size that are counted; nil if unknown
	// HostPort says that nodes are named host:port in asks.
	HostPort bool `json:"host_port,omitempty"`
}

// Counts says whether the scheduler counts a part of a size. The default
// calculator of the capacity scheduler counts memory alone: then any number of
// cores fits on a node. What is not known counts as counted.
func (s Scheduler) Counts(name string) bool {
	return s.Sees == nil || slices.Contains(s.Sees, name)
}

// Round is the size that the scheduler grants for an ask.
func (s Scheduler) Round(ask Size) Size { return s.Rounding.Round(ask) }

// SizeOf is what a task of a role is asked for, before the scheduler rounds it.
func (s *Settings) SizeOf(r *plan.Role) Size {
	out := Size{Memory: (r.Resources.Memory + mib - 1) / mib, VCores: whole(r.Resources.CPUs)}
	if r.Resources.Memory == 0 {
		out.Memory = DefaultMemory
	}
	for name, n := range s.Role(r.Name).Resources {
		out = out.With(name, n)
	}
	if r.Resources.GPUs > 0 {
		out = out.With(GPU, int64(r.Resources.GPUs))
	}
	return out
}

// DefaultMemory is what a task gets that names no memory, in MiB: YARN must be
// told a number.
const DefaultMemory = 1024

const mib = 1 << 20

// slack forgives what adding fractions of a processor loses.
const slack = 1e-6

// whole is the number of cores for a fraction of processors: YARN counts whole ones.
func whole(cpus float64) int64 {
	n := int64(cpus)
	if float64(n) < cpus-slack {
		n++
	}
	return max(n, 1)
}
