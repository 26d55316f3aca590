package yarn

import (
	"fmt"
	"strings"

	"github.com/muster-project/muster/hadoop/conf"
)

// Rounding is how a scheduler rounds an ask up: at least Min, then to the next
// multiple of Step. A zero in Step leaves a resource as it is.
//
//	CapacityScheduler, FIFO  Step is Min
//	FairScheduler            Step is the increment: 1024 MiB and 1 core by default
//
// It foretells what a site's files say; Container.resource tells what was granted.
type Rounding struct {
	Min  Resource
	Step Resource
	Max  Resource
}

const (
	minMemory = 1024
	maxMemory = 8192
	minVCores = 1
	maxVCores = 4
)

// RoundingOf reads the rules of the scheduler that the configuration names, or
// that the argument names when it is not empty (RM's files may differ from the
// client's): "fair" anywhere in the class or name means the FairScheduler.
func RoundingOf(c *conf.Conf, scheduler string) Rounding {
	if scheduler == "" {
		scheduler = c.String("yarn.resourcemanager.scheduler.class", "capacity")
	}
	r := Rounding{
		Min: Resource{
			Memory: c.Int("yarn.scheduler.minimum-allocation-mb", minMemory),
			VCores: c.Int("yarn.scheduler.minimum-allocation-vcores", minVCores),
		},
		Max: Resource{
			Memory: c.Int("yarn.scheduler.maximum-allocation-mb", maxMemory),
			VCores: c.Int("yarn.scheduler.maximum-allocation-vcores", maxVCores),
		},
	}
	fair := strings.Contains(strings.ToLower(scheduler), "fair")
	if fair {
		r.Step.Memory = increment(c, memoryName, c.Int("yarn.scheduler.increment-allocation-mb", 1024))
		r.Step.VCores = increment(c, vcoresName, c.Int("yarn.scheduler.increment-allocation-vcores", 1))
	} else {
		r.Step.Memory, r.Step.VCores = r.Min.Memory, r.Min.VCores
	}
	for _, name := range c.Strings("yarn.resource-types") {
		low := c.Int("yarn.resource-types."+name+".minimum-allocation", 0)
		r.Min = r.Min.With(name, low)
		if fair {
			r.Step = r.Step.With(name, increment(c, name, 1))
		} else {
			r.Step = r.Step.With(name, low)
		}
		if high := c.Int("yarn.resource-types."+name+".maximum-allocation", 0); high > 0 {
			r.Max = r.Max.With(name, high)
		}
	}
	return r
}

func increment(c *conf.Conf, name string, def int64) int64 {
	return c.Int("yarn.resource-types."+name+".increment-allocation", def)
}

// Round is what the scheduler makes of an ask. It never rounds down: an ask over
// Max stays over it, and the scheduler refuses it.
func (r Rounding) Round(ask Resource) Resource {
	out := ask
	for _, name := range names(ask, r.Min) {
		v := max(ask.Get(name), r.Min.Get(name))
		if step := r.Step.Get(name); step > 0 {
			v = (v + step - 1) / step * step
		}
		if most := r.Max.Get(name); most > 0 && ask.Get(name) <= most {
			v = min(v, most) // a multiple beyond the maximum is cut to it
		}
		if v != ask.Get(name) {
			out = out.With(name, v)
		}
	}
	return out
}

// names are those of both, each once.
func names(a, b Resource) []string {
	out := a.Names()
	for k := range b.More {
		if _, ok := a.More[k]; !ok {
			out = append(out, k)
		}
	}
	return out
}

// Check says what makes an ask larger than any container of the cluster.
func (r Rounding) Check(ask Resource) error {
	for _, name := range ask.Names() {
		if most := r.Max.Get(name); most > 0 && ask.Get(name) > most {
			return fmt.Errorf("%s: %d is more than the largest container has: %d", name, ask.Get(name), most)
		}
	}
	return nil
}
