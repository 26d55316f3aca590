package server

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/muster-project/muster/api"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

// limited refuses what the site does not allow. The command line said the same
// earlier and better; here it is said to those who came without it. The file is
// read anew each time: an administrator need not end the server.
func (s *Server) limited(user string, p *plan.Plan) error {
	if s.SiteFile == "" {
		return nil
	}
	data, err := os.ReadFile(s.SiteFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return api.Errorf(api.CodeInternal, "%s: the site's limits cannot be read: %v", s.SiteFile, err)
	}
	site, err := spec.DecodeSite(s.SiteFile, data)
	if err != nil {
		return api.Errorf(api.CodeInternal, "%v", err).WithHint("no job is taken until the site's file is right")
	}
	var over []string
	for _, share := range []struct {
		whose  string
		limits spec.Limits
	}{
		{"the site", site.Limits.Under(site.Users[user].Limits)},
		{fmt.Sprintf("queue %q", p.Queue), site.Queues[p.Queue].Limits},
	} {
		for _, problem := range beyond(share.limits, p) {
			over = append(over, problem[0]+" asked, "+share.whose+" allows "+user+" "+problem[1])
		}
	}
	if len(over) == 0 {
		return nil
	}
	return api.Errorf(api.CodeRefused, "%s", strings.Join(over, "\n")).WithHint("the limits are in %s", s.SiteFile)
}

// beyond gives what is asked beyond limits, and what they are.
func beyond(l spec.Limits, p *plan.Plan) (over [][2]string) {
	var tasks, gpus int
	var cpus float64
	var memory int64
	for _, r := range p.Roles {
		n := r.Instances.Max
		tasks, gpus = tasks+n, gpus+n*r.Resources.GPUs
		cpus, memory = cpus+float64(n)*r.Resources.CPUs, memory+int64(n)*r.Resources.Memory
	}
	say := func(key string, asked, allowed any) {
		over = append(over, [2]string{fmt.Sprintf("%s: %v", key, asked), fmt.Sprint(allowed)})
	}
	if l.Instances != nil && tasks > *l.Instances {
		say("instances", tasks, *l.Instances)
	}
	if l.CPUs != nil && cpus > *l.CPUs {
		say("cpus", cpus, *l.CPUs)
	}
	if l.Memory != nil && memory > int64(*l.Memory) {
		say("memory", spec.Size(memory), *l.Memory)
	}
	if l.GPUs != nil && gpus > *l.GPUs {
		say("gpus", gpus, *l.GPUs)
	}
	if l.Run != nil && p.Timeout.Run == 0 {
		say("timeout.run", "no end", *l.Run)
	} else if l.Run != nil && p.Timeout.Run > *l.Run {
		say("timeout.run", p.Timeout.Run, *l.Run)
	}
	if l.Priority != nil && p.Priority > *l.Priority {
		say("priority", p.Priority, *l.Priority)
	}
	if len(l.Queues) > 0 && !slices.Contains(l.Queues, p.Queue) {
		say("queue", fmt.Sprintf("%q", p.Queue), strings.Join(l.Queues, ", "))
	}
	return over
}
