package yarn

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/muster-project/muster/hadoop/pb/yarnpb"
)

// GPU is the name of YARN's resource for GPUs.
const GPU = "yarn.io/gpu"

// Resource is an amount: memory in MiB, virtual cores, and others by name, such
// as GPU, in whole units.
type Resource struct {
	Memory int64
	VCores int64
	More   map[string]int64
}

const (
	memoryName = "memory-mb"
	vcoresName = "vcores"
)

// ResourceOf reads the wire's form; nil gives nothing. Units of other resources
// are multiplied out; a fraction of a unit is rounded down.
func ResourceOf(p *yarnpb.Resource) Resource {
	r := Resource{Memory: p.GetMemoryMb(), VCores: int64(p.GetVcores())}
	for _, i := range p.GetMore() {
		if k := i.GetKey(); k != memoryName && k != vcoresName {
			r = r.With(k, scale(i.GetValue(), i.GetUnits()))
		}
	}
	return r
}

// Proto is the wire's form. Resources are listed by name, so that equal amounts
// give equal bytes.
func (r Resource) Proto() *yarnpb.Resource {
	p := &yarnpb.Resource{MemoryMb: proto.Int64(r.Memory), Vcores: proto.Int32(int32(min(r.VCores, math.MaxInt32)))}
	for _, k := range slices.Sorted(maps.Keys(r.More)) {
		p.More = append(p.More, &yarnpb.ResourceInformation{
			Key: proto.String(k), Value: proto.Int64(r.More[k]), Units: proto.String(""), Type: proto.Int32(0),
		})
	}
	return p
}

// With is r with another amount of one resource; memory-mb and vcores are names too.
func (r Resource) With(name string, amount int64) Resource {
	switch name {
	case memoryName:
		r.Memory = amount
	case vcoresName:
		r.VCores = amount
	default:
		r.More = maps.Clone(r.More)
		if r.More == nil {
			r.More = map[string]int64{}
		}
		r.More[name] = amount
	}
	return r
}

// Get is the amount of one resource by name.
func (r Resource) Get(name string) int64 {
	switch name {
	case memoryName:
		return r.Memory
	case vcoresName:
		return r.VCores
	}
	return r.More[name]
}

// Names lists what r speaks of: memory and cores first.
func (r Resource) Names() []string {
	return append([]string{memoryName, vcoresName}, slices.Sorted(maps.Keys(r.More))...)
}

// Add is r and s together.
func (r Resource) Add(s Resource) Resource { return r.join(s, 1) }

// Sub is what is left of r without s; amounts may become negative.
func (r Resource) Sub(s Resource) Resource { return r.join(s, -1) }

// Times is n of r.
func (r Resource) Times(n int64) Resource { return Resource{}.join(r, n) }

func (r Resource) join(s Resource, sign int64) Resource {
	out := Resource{Memory: r.Memory + sign*s.Memory, VCores: r.VCores + sign*s.VCores, More: maps.Clone(r.More)}
	for k, v := range s.More {
		out = out.With(k, out.More[k]+sign*v)
	}
	return out
}

// Fits tells that r is not more than s in anything that r asks for.
func (r Resource) Fits(s Resource) bool { return r.Lacks(s) == "" }

// Lacks names the first resource that r asks more of than s has; "" when it fits.
func (r Resource) Lacks(s Resource) string {
	for _, k := range r.Names() {
		if v := r.Get(k); v > 0 && v > s.Get(k) {
			return k
		}
	}
	return ""
}

// IsZero tells that there is nothing of anything.
func (r Resource) IsZero() bool {
	return r.Memory == 0 && r.VCores == 0 && !slices.ContainsFunc(slices.Collect(maps.Values(r.More)), func(v int64) bool { return v != 0 })
}

// String tells memory in MiB, cores, and the others that are not zero.
func (r Resource) String() string {
	parts := []string{fmt.Sprintf("%d MiB", r.Memory), fmt.Sprintf("%d vcores", r.VCores)}
	for _, k := range slices.Sorted(maps.Keys(r.More)) {
		if v := r.More[k]; v != 0 {
			parts = append(parts, fmt.Sprintf("%d %s", v, k))
		}
	}
	return strings.Join(parts, ", ")
}

// Powers of ten and of two that resource-types.xml may give a resource.
var units = map[string]float64{
	"": 1, "p": 1e-12, "n": 1e-9, "u": 1e-6, "m": 1e-3,
	"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15,
	"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40, "Pi": 1 << 50,
}

// scale turns an amount of a unit into whole ones. A unit that is not known
// counts as one: what was sent is shown rather than lost.
func scale(v int64, unit string) int64 {
	f, ok := units[unit]
	if !ok || f == 1 {
		return v
	}
	if x := float64(v) * f; x < math.MaxInt64 {
		return int64(x)
	}
	return math.MaxInt64
}
