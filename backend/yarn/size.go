package yarn

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

// Size is what a container is asked for, or has, or what a node or a queue has
// room for.
type Size struct {
	MiB   int64            `json:"mib"`
	Cores int64            `json:"cores"`
	Other map[string]int64 `json:"other,omitempty"` // yarn.io/gpu and its kin
}

// GPU is YARN's name of a GPU.
const GPU = "yarn.io/gpu"

// Names of what every size has, as YARN writes them.
const (
	nameMemory = "memory-mb"
	nameCores  = "vcores"
)

// Get is one part of a size by YARN's name of it.
func (s Size) Get(name string) int64 {
	switch name {
	case nameMemory:
		return s.MiB
	case nameCores:
		return s.Cores
	}
	return s.Other[name]
}

// with is s with one part replaced.
func (s Size) with(name string, n int64) Size {
	switch name {
	case nameMemory:
		s.MiB = n
	case nameCores:
		s.Cores = n
	default:
		s.Other = maps.Clone(s.Other)
		if s.Other == nil {
			s.Other = map[string]int64{}
		}
		s.Other[name] = n
	}
	return s
}

// names are the parts of a size that are not zero, memory and cores first.
func (s Size) names() []string {
	names := []string{nameMemory, nameCores}
	for _, name := range slices.Sorted(maps.Keys(s.Other)) {
		if s.Other[name] != 0 {
			names = append(names, name)
		}
	}
	return names
}

// add is s and n times o.
func (s Size) add(o Size, n int64) Size {
	s.MiB += n * o.MiB
	s.Cores += n * o.Cores
	for name, v := range o.Other {
		s = s.with(name, s.Other[name]+n*v)
	}
	return s
}

// String prints a size for people: 2GiB, 4 vcores, 1 yarn.io/gpu.
func (s Size) String() string {
	var parts []string
	for _, name := range s.names() {
		if n := s.Get(name); n != 0 || name == nameMemory {
			parts = append(parts, amount(name, n))
		}
	}
	return strings.Join(parts, ", ")
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
	Kind  string   `json:"kind"`           // Capacity Scheduler, Fair Scheduler, …
	Least Size     `json:"least"`          // smallest container
	Step  Size     `json:"step"`           // sizes are rounded up to multiples of it
	Most  Size     `json:"most"`           // largest container
	Sees  []string `json:"sees,omitempty"` // parts of a size that are counted; nil if unknown
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
func (s Scheduler) Round(ask Size) Size {
	for _, name := range ask.names() {
		step := s.Step.Get(name)
		n := max(ask.Get(name), s.Least.Get(name))
		if step > 1 {
			n = (n + step - 1) / step * step
		}
		ask = ask.with(name, n)
	}
	return ask
}

// SizeOf is what a task of a role is asked for, before the scheduler rounds it.
func (s *Settings) SizeOf(r *plan.Role) Size {
	out := Size{MiB: (r.Resources.Memory + mib - 1) / mib, Cores: whole(r.Resources.CPUs)}
	if r.Resources.Memory == 0 {
		out.MiB = DefaultMemory
	}
	for name, n := range s.Role(r.Name).Resources {
		out = out.with(name, n)
	}
	if r.Resources.GPUs > 0 {
		out = out.with(GPU, int64(r.Resources.GPUs))
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
