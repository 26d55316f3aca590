package yarn

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/muster-project/muster/hadoop/pb/yarnpb"
	hadoop "github.com/muster-project/muster/hadoop/yarn"
)

// seenTime is how long a look is good enough for what is asked for next: a job is
// checked, and then submitted at once.
const seenTime = 10 * time.Second

// recently is what the place was like a moment ago.
func (b *Backend) recently(ctx context.Context) (*cluster, error) {
	b.mu.Lock()
	c, at := b.seen, b.at
	b.mu.Unlock()
	if c != nil && time.Since(at) < seenTime {
		return c, nil
	}
	return b.look(ctx)
}

// look asks the resource manager what the place is like at present. What only
// its web service tells is left out where that does not answer.
func (b *Backend) look(ctx context.Context) (*cluster, error) {
	c := &cluster{MaxPriority: -1}
	g, inner := errgroup.WithContext(ctx)
	ask := func(read func(context.Context) error) {
		g.Go(func() error {
			if err := read(inner); err != nil {
				return b.unreachable(err)
			}
			return nil
		})
	}
	ask(func(ctx context.Context) (err error) { c.Machines, err = b.machines(ctx); return err })
	ask(func(ctx context.Context) (err error) { c.Labels, err = b.labels(ctx); return err })
	ask(func(ctx context.Context) (err error) { c.Types, err = b.types(ctx); return err })
	ask(func(ctx context.Context) (err error) { c.Submits, err = b.submits(ctx); return err })
	var told *queue
	ask(func(ctx context.Context) (err error) { told, err = b.queues(ctx); return err })
	var over hadoop.Overview
	g.Go(func() error {
		var err error
		if over, err = b.web.Overview(inner); err != nil {
			b.Log.Debug("what the scheduler counts cannot be read", "error", err)
		}
		return nil
	})
	var running map[string]string
	g.Go(func() error {
		var err error
		if running, err = b.web.Conf(inner); err != nil {
			b.Log.Debug("the resource manager's configuration cannot be read", "error", err)
		}
		return nil
	})
	g.Go(func() error {
		s, err := b.web.Scheduler(inner)
		if err != nil {
			b.Log.Debug("the scheduler's web service cannot be read", "error", err)
			return nil
		}
		c.Root = s.Root
		return nil
	})
	if err := g.Wait(); err != nil {
		return nil, err
	}
	if c.Root == nil {
		c.Root = told
	} else {
		amend(c.Root, told)
	}
	b.read(c, running, over)
	b.mu.Lock()
	b.seen, b.at = c, time.Now()
	b.mu.Unlock()
	return c, nil
}

// read takes from the configuration that the resource manager runs with what it
// says of its scheduler; the client's own stands in where that is not known.
func (b *Backend) read(c *cluster, running map[string]string, over hadoop.Overview) {
	conf := b.Conf
	if running != nil {
		conf = conf.With(running)
		c.MaxPriority = int(conf.Int("yarn.cluster.max-application-priority", 0))
	}
	c.Guarded, c.Administrators = guarded(conf), conf.String(keyAdmins, "*")
	kind := conf.String("yarn.resourcemanager.scheduler.class", "CapacityScheduler")
	c.Scheduler = Scheduler{Kind: kind[strings.LastIndexByte(kind, '.')+1:], Rounding: hadoop.RoundingOf(conf, kind),
		HostPort: conf.Bool("yarn.scheduler.include-port-in-node-name", false)}
	c.Scheduler.Sees = sees(c.Scheduler.Kind, over.Counted, c.Types)
	runtimes := conf.Strings("yarn.nodemanager.runtime.linux.allowed-runtimes")
	switch executor := conf.String("yarn.nodemanager.container-executor.class", ""); {
	case strings.Contains(strings.Join(runtimes, ","), "docker") && strings.Contains(executor, "LinuxContainerExecutor"):
		c.Docker = "yes"
	case running != nil:
		c.Docker = "no" // sites keep one file for all daemons
	}
}

// sees is what a scheduler counts. Where the capacity scheduler does not say, it
// may be memory alone, as by default; sites with GPUs must have set more, so
// only cores are in doubt and left out: a false refusal is worse than none.
func sees(kind string, told, types []string) []string {
	switch {
	case !strings.Contains(kind, "Capacity"):
		return nil
	case told != nil:
		return told
	}
	return slices.DeleteFunc(slices.Clone(types), func(name string) bool { return name == nameCores })
}

func (b *Backend) machines(ctx context.Context) ([]machine, error) {
	reports, err := b.rm.Nodes(ctx, yarnpb.NodeState_NS_NEW, yarnpb.NodeState_NS_RUNNING, yarnpb.NodeState_NS_UNHEALTHY,
		yarnpb.NodeState_NS_LOST, yarnpb.NodeState_NS_REBOOTED, yarnpb.NodeState_NS_DECOMMISSIONING, yarnpb.NodeState_NS_DECOMMISSIONED, yarnpb.NodeState_NS_SHUTDOWN)
	if err != nil {
		return nil, err
	}
	out := make([]machine, 0, len(reports))
	for _, n := range reports {
		m := machine{Name: hadoop.NodeAddr(n.GetNodeId()), Rack: n.GetRack(), State: strings.TrimPrefix(n.GetState().String(), "NS_"),
			Total: hadoop.ResourceOf(n.GetCapability()), Used: hadoop.ResourceOf(n.GetUsed()), Web: n.GetHttpAddress()}
		if l := n.GetLabels(); len(l) > 0 {
			m.Label = l[0]
		}
		out = append(out, m)
	}
	return out, nil
}

func (b *Backend) labels(ctx context.Context) (map[string]bool, error) {
	labels, err := b.rm.NodeLabels(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for _, l := range labels {
		if l.GetName() != "" {
			out[l.GetName()] = l.GetExclusive()
		}
	}
	return out, nil
}

func (b *Backend) types(ctx context.Context) ([]string, error) {
	types, err := b.rm.ResourceTypes(ctx)
	var out []string
	for _, t := range types {
		out = append(out, t.GetName())
	}
	return out, err
}

// submits are the queues that the user may submit to. Without access lists the
// cluster names all of them.
func (b *Backend) submits(ctx context.Context) (map[string]bool, error) {
	acls, err := b.rm.QueueACLs(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for name, list := range acls {
		for _, a := range list {
			if a == yarnpb.QueueACL_SUBMIT_APPLICATIONS {
				out[name] = true
			}
		}
	}
	return out, nil
}

// queues are the scheduler's queues as every cluster tells them.
func (b *Backend) queues(ctx context.Context) (*queue, error) {
	info, err := b.rm.Queue(ctx, "root")
	if err != nil {
		if errors.Is(err, hadoop.ErrNoQueue) {
			return nil, nil
		}
		return nil, err
	}
	return queueFrom(info, ""), nil
}

func queueFrom(i *yarnpb.QueueInfo, above string) *queue {
	q := &queue{Path: i.GetPath(), Leaf: len(i.GetChildren()) == 0, Labels: i.GetAccessibleLabels(), DefaultLabel: i.GetDefaultLabel(),
		State: strings.TrimPrefix(i.GetState().String(), "Q_"), Partitions: map[string]hadoop.Share{}}
	if q.Path == "" {
		q.Path = strings.TrimPrefix(above+"."+lastPart(i.GetName()), ".")
	}
	for _, p := range i.GetPartitions() {
		c := p.GetConfiguration()
		q.Partitions[p.GetPartition()] = hadoop.Share{Min: hadoop.ResourceOf(c.GetEffectiveMin()), Max: hadoop.ResourceOf(c.GetEffectiveMax())}
	}
	for _, child := range i.GetChildren() {
		q.Children = append(q.Children, queueFrom(child, q.Path))
	}
	return q
}

// amend adds what only the resource manager's own protocol tells: a queue's
// default label.
func amend(root, told *queue) {
	walk(told, func(t *queue) {
		for _, mine := range find(root, t.Path) {
			if mine.Path == t.Path && mine.DefaultLabel == "" {
				mine.DefaultLabel = t.DefaultLabel
			}
		}
	})
}
