package yarn

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/muster-project/muster/hadoop/conf"
)

func (d *diagnosis) nodes(ctx context.Context) {
	machines, err := d.machines(ctx)
	if err != nil {
		d.failed("nodes", "", "%v", err)
		return
	}
	count := map[string]int{}
	var total Size
	for _, m := range machines {
		count[m.State]++
		if m.State == nodeRunning {
			total = total.Add(m.Total)
		}
	}
	n := count[nodeRunning]
	if n == 0 {
		d.failed("nodes", "an administrator starts NodeManagers", "none of %d runs", len(machines))
		return
	}
	text := fmt.Sprintf("%d run: %s together", n, say(total))
	var away []string
	for state, n := range count {
		if state != nodeRunning {
			away = append(away, fmt.Sprintf("%d %s", n, strings.ToLower(state)))
		}
	}
	slices.Sort(away)
	if count["UNHEALTHY"]+count["LOST"] > 0 {
		d.warn("nodes", "yarn node -list -all, or the resource manager's page, says why", "%s; %s", text, strings.Join(away, ", "))
		return
	}
	d.ok("nodes", "%s", text)
}

func (d *diagnosis) gpus(ctx context.Context) {
	types, err := d.types(ctx)
	if err != nil {
		d.warn("gpus", "", "%v", err)
		return
	}
	if !slices.Contains(types, GPU) {
		d.warn("gpus", "an administrator adds it to yarn.resource-types in resource-types.xml and enables the GPU plugin of the nodes",
			"the cluster does not know %s: jobs that ask for GPUs are refused", GPU)
		return
	}
	machines, err := d.machines(ctx)
	if err != nil {
		d.warn("gpus", "", "%v", err)
		return
	}
	var gpus int64
	nodes := 0
	for _, m := range machines {
		if n := m.Total.Get(GPU); n > 0 && m.State == nodeRunning {
			gpus += n
			nodes++
		}
	}
	if gpus == 0 {
		d.warn("gpus", "an administrator enables the GPU plugin of the nodes: yarn.nodemanager.resource-plugins", "the cluster knows %s, but no node has any", GPU)
		return
	}
	d.ok("gpus", "%d on %d nodes", gpus, nodes)
}

func (d *diagnosis) queues(ctx context.Context) {
	root, err := d.Backend.queues(ctx)
	if err != nil {
		d.warn("queues", "", "%v", err)
		return
	}
	may, err := d.submits(ctx)
	if err != nil {
		d.warn("queues", "", "%v", err)
		return
	}
	r := &refusal{cluster: &cluster{Root: root, Submits: may}}
	open := r.open()
	if len(open) == 0 {
		d.failed("queues", "ask an administrator for the right to submit to one", "%s may submit to none of %s", d.User, strings.Join(leaves(root), ", "))
		return
	}
	d.ok("queues", "%s may submit to %s", d.User, strings.Join(open, ", "))
}

// running looks at what the resource manager was started with.
func (d *diagnosis) running(ctx context.Context) {
	if d.webAway {
		return
	}
	running, err := d.web.Conf(ctx)
	if err != nil {
		d.warn("web", "", "the configuration of the resource manager cannot be read: %v", innermost(err))
		return
	}
	c := conf.New(running)
	if c.Bool("yarn.log-aggregation-enable", false) {
		d.ok("logs", "are gathered in %s", c.String("yarn.nodemanager.remote-app-log-dir", "/tmp/logs"))
	} else {
		d.warn("logs", "an administrator sets yarn.log-aggregation-enable; muster keeps what tasks print in any case", "log aggregation is off: coordinators' logs stay on their nodes")
	}
	if !c.Bool("yarn.resourcemanager.recovery.enabled", false) {
		d.warn("recovery", "an administrator sets yarn.resourcemanager.recovery.enabled", "jobs end when the resource manager restarts")
	}
}
