//go:build hadoop

package conformance

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/backend/backendtest"
	"github.com/muster-project/muster/backend/yarn"
	"github.com/muster-project/muster/coordinator"
	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/hadoop/conf"
	"github.com/muster-project/muster/hadoop/hdfs"
	"github.com/muster-project/muster/hadoop/pb/yarnpb"
	"github.com/muster-project/muster/hadoop/rpc"
	hadoop "github.com/muster-project/muster/hadoop/yarn"
	"github.com/muster-project/muster/history"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
	"github.com/muster-project/muster/storage"
	"github.com/muster-project/muster/test/cluster/hadoop/lab"
)

// On the cluster of HADOOP_CONF_DIR tasks run on its one node with the label gpu,
// which holds three of their size. Coordinators run on the nodes without a label.
const (
	yarnUser  = "alice" // may submit to the queue
	yarnQueue = "ml"
	yarnLabel = "gpu"
	yarnSlots = 3
	yarnTask  = 1280 << 20 // of 4 GiB
)

// stretch is how much longer a script's pauses are than on one machine: a
// container takes seconds to start.
const stretch = 4

// ground is a cluster that the suite runs on. What is read of it here does not go
// the way of the backend under test, which the test can cut.
type ground struct {
	t       *testing.T
	lab     *lab.Cluster
	rm      *hadoop.RM
	backend *yarn.Backend
	fs      storage.FS
	files   *hdfs.Client
	layout  yarn.Layout
	way     *way
}

func newGround(t *testing.T) *ground {
	dir := os.Getenv("HADOOP_CONF_DIR")
	if dir == "" {
		t.Fatal("HADOOP_CONF_DIR is not set: test/cluster/hadoop brings up a cluster and sets it")
	}
	g := &ground{t: t}
	var err error
	if g.lab, err = lab.Open(dir); err != nil {
		t.Fatal(err)
	}
	c := yarn.At(dir, yarn.Who{User: yarnUser})
	if c.Trouble != nil {
		t.Fatal(c.Trouble)
	}
	if g.rm, err = hadoop.NewRM(c.Conf, func(context.Context) (rpc.Auth, error) { return rpc.Auth{User: yarnUser}, nil }); err != nil {
		t.Fatal(err)
	}
	servers, err := c.Conf.ResourceManagers(conf.RMClient)
	if err != nil {
		t.Fatal(err)
	}
	g.way = newWay(t, conf.Addresses(servers)[0])
	c.Conf = c.Conf.With(map[string]string{"yarn.resourcemanager.address": g.way.address})
	c.Layout = yarn.Layout{Root: "/tmp/muster-conformance-" + rand.Text()[:8], Shared: "/tmp/muster-gangs"}
	c.Muster, c.Executor = os.Executable, os.Executable // see muster
	b := yarn.New(c)
	b.Seal = func(ctx context.Context, ref backend.Ref, o event.Outcome) error {
		return coordinator.Seal(ctx, b.FS(), ref.Dir, o, "test")
	}
	g.backend, g.fs, g.layout = b, b.FS(), c.Layout
	g.files = g.fs.(interface{ Client() *hdfs.Client }).Client()
	t.Cleanup(g.close)
	return g
}

// close ends what a failed test left.
func (g *ground) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	refs, err := g.backend.List(ctx)
	for _, r := range refs {
		err = errors.Join(err, g.backend.Stop(ctx, r, true))
	}
	if err = errors.Join(err, g.fs.Remove(ctx, g.layout.Root), g.backend.Close(), g.rm.Close(), g.way.close()); err != nil {
		g.t.Error(err)
	}
}

// adapt makes exactly yarnSlots tasks fit.
func (g *ground) adapt(p *plan.Plan) {
	p.User, p.Queue = yarnUser, yarnQueue
	p.Native = map[string]any{yarn.Name: map[string]any{"node_label": yarnLabel}}
	for i := range p.Roles {
		p.Roles[i].Resources.Memory = yarnTask
	}
}

// slower turns a script into one with longer pauses.
func slower(list ...string) spec.Command {
	out := make([]string, len(list))
	for i, w := range list {
		out[i] = w
		if before, arg, ok := strings.Cut(w, "sleep="); ok {
			if d, err := time.ParseDuration(arg); err == nil {
				out[i] = before + "sleep=" + (stretch * d).String()
			}
		}
	}
	return words(out...)
}

// app is the newest application of a job.
func (g *ground) app(ctx context.Context, id string) (hadoop.AppID, error) {
	ref, err := g.backend.Find(ctx, id)
	if err != nil {
		return hadoop.AppID{}, err
	}
	return hadoop.ParseApp(ref.Native)
}

// held counts the containers that the resource manager shows, without those of
// coordinators.
func (g *ground) held(id string) int {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	app, err := g.app(ctx, id)
	if err != nil {
		g.t.Fatal(err)
	}
	list, err := g.containers(ctx, app)
	if err != nil {
		g.t.Fatal(err)
	}
	return len(list)
}

// containers are those that an application has, by the id; without those of its
// coordinators.
func (g *ground) containers(ctx context.Context, app hadoop.AppID) (map[string]string, error) {
	attempts, err := g.rm.Attempts(ctx, app)
	if err != nil {
		return nil, err
	}
	own, out := map[string]bool{}, map[string]string{}
	for _, a := range attempts {
		own[hadoop.ContainerOf(a.GetAmContainerId()).String()] = true
	}
	for _, a := range attempts {
		list, err := g.rm.Containers(ctx, hadoop.AttemptOf(a.GetAttemptId()))
		if err != nil {
			return nil, err
		}
		for _, c := range list {
			name := hadoop.ContainerOf(c.GetContainerId()).String()
			if c.GetState() != yarnpb.ContainerState_C_COMPLETE && !own[name] {
				out[name] = c.GetState().String()
			}
		}
	}
	return out, nil
}

// left names what is left of a job at the resource manager, on HDFS and on the
// nodes, which are this machine.
func (g *ground) left(id string) (out []string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	app, err := g.app(ctx, id)
	if err != nil {
		return []string{err.Error()}
	}
	r, err := g.rm.Report(ctx, app)
	if err != nil {
		return []string{err.Error()}
	}
	if s := r.GetState(); s < yarnpb.AppState_FINISHED {
		out = append(out, fmt.Sprintf("%s is %s", app, s))
	}
	list, err := g.containers(ctx, app)
	if err != nil {
		return append(out, err.Error())
	}
	for name, state := range list {
		out = append(out, name+" is "+state)
	}
	open, err := g.open(ctx, string(g.layout.Job(id)))
	if err != nil {
		return append(out, err.Error())
	}
	out = append(out, open...)
	if _, err := g.fs.Stat(ctx, path.Join(g.layout.Tickets(yarnLabel), app.String())); !errors.Is(err, fs.ErrNotExist) {
		out = append(out, fmt.Sprintf("the gang's ticket: %v", err))
	}
	for _, p := range processesOf(id, app.String()) {
		out = append(out, fmt.Sprintf("process %d %s", p.pid, p.command))
	}
	dirs, err := filepath.Glob(filepath.Join(g.lab.Dir, "data", "nm*", "local", "usercache", "*", "appcache", app.String()))
	if err != nil {
		g.t.Fatal(err)
	}
	return append(out, dirs...)
}

// open names the files below a directory that somebody writes.
func (g *ground) open(ctx context.Context, dir string) (out []string, err error) {
	files, err := g.files.List(ctx, dir)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		name := path.Join(dir, f.Name())
		if f.IsDir() {
			below, err := g.open(ctx, name)
			if err != nil {
				return nil, err
			}
			out = append(out, below...)
			continue
		}
		if closed, err := g.files.Closed(ctx, name); err != nil {
			return nil, err
		} else if !closed {
			out = append(out, name+" is open")
		}
	}
	return out, nil
}

// process is one of this machine.
type process struct {
	pid     int
	command string
}

// processesOf finds the processes that belong to a job, an application or a
// container, by the words with which a node or muster marks them.
func processesOf(marks ...string) (out []process) {
	for _, m := range marks {
		if n, ok := strings.CutPrefix(m, "application_"); ok {
			marks = append(marks, "container_"+n+"_")
		}
	}
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		command, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		environ, _ := os.ReadFile(filepath.Join(dir, "environ"))
		place, _ := os.Readlink(filepath.Join(dir, "cwd"))
		text := string(command) + "\x00" + string(environ) + "\x00" + place
		for _, m := range marks {
			if strings.Contains(text, m) {
				pid, _ := strconv.Atoi(filepath.Base(dir)) // digits
				out = append(out, process{pid, strings.ReplaceAll(string(command), "\x00", " ")})
				break
			}
		}
	}
	return out
}

// slot is the container of a task.
func (g *ground) slot(ctx context.Context, id string, task plan.TaskID) (string, error) {
	slot := ""
	for e, err := range history.Read(ctx, g.fs, string(g.layout.Job(id)), 0) {
		if err != nil {
			break // being written
		}
		if b, ok := e.Body.(*event.SlotGranted); ok && b.Task == task {
			slot = b.Slot
		}
	}
	if slot == "" {
		return "", fmt.Errorf("%s: %s has no slot", id, task)
	}
	return slot, nil
}

// lose kills everything in the container of a task.
func (g *ground) lose(id string, task plan.TaskID) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	slot, err := g.slot(ctx, id, task)
	if err != nil {
		return err
	}
	// All kinds of things are there now: left must be able to see them.
	seen := strings.Join(g.left(id), "\n")
	for _, want := range []string{"application_", slot + " is ", " is open", "process ", "appcache"} {
		if !strings.Contains(seen, want) {
			g.t.Errorf("of a job that runs %q is not seen: %s", want, seen)
		}
	}
	for _, p := range processesOf(slot) {
		if err := syscall.Kill(p.pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
	return nil
}

// takeover makes the resource manager start the next coordinator while the first
// one lives: it is told that the first has failed, while the node of the first
// cannot be told to end it. The first must leave by itself.
func (g *ground) takeover(id string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	app, err := g.app(ctx, id)
	if err != nil {
		return err
	}
	r, err := g.rm.Report(ctx, app)
	if err != nil {
		return err
	}
	first := hadoop.AttemptOf(r.GetCurrentAttempt())
	a, err := g.rm.Attempt(ctx, first)
	if err != nil {
		return err
	}
	master := hadoop.ContainerOf(a.GetAmContainerId())
	node, err := g.node(ctx, master)
	if err != nil {
		return err
	}
	if err := g.lab.Pause(ctx, node); err != nil {
		return err
	}
	defer func() {
		if err := g.lab.Resume(context.WithoutCancel(ctx), node); err != nil {
			g.t.Error(err)
		}
	}()
	if len(processesOf(master.String())) == 0 {
		return fmt.Errorf("%s: the first coordinator does not live", master)
	}
	if err := g.rm.FailAttempt(ctx, first); err != nil {
		return err
	}
	return until(ctx, func() (bool, error) {
		r, err := g.rm.Report(ctx, app)
		second := r.GetState() == yarnpb.AppState_RUNNING && hadoop.AttemptOf(r.GetCurrentAttempt()) != first
		return second && len(processesOf(master.String())) == 0, err
	})
}

// node is the name of the NodeManager of a container.
func (g *ground) node(ctx context.Context, id hadoop.ContainerID) (string, error) {
	r, err := g.rm.Container(ctx, id)
	if err != nil {
		return "", err
	}
	at := fmt.Sprintf("%s:%d", r.GetNodeId().GetHost(), r.GetNodeId().GetPort())
	for _, name := range g.lab.Names() {
		if n, err := g.lab.Node(name); err == nil && n == at {
			return name, nil
		}
	}
	return "", fmt.Errorf("%s: on %s, which is no node of the test's cluster", id, at)
}

// until asks until it is so.
func until(ctx context.Context, ok func() (bool, error)) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		if done, err := ok(); done || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func TestYARNConformance(t *testing.T) {
	g := newGround(t)
	backendtest.Run(t, &backendtest.Harness{Backend: g.backend, FS: g.fs, Slots: yarnSlots, Patience: 2 * time.Minute,
		Every: 100 * time.Millisecond, Command: slower, Adapt: g.adapt, Gathers: true, Lose: g.lose, Takeover: g.takeover,
		Blind: g.way.cut, Held: g.held, Left: g.left})
}
