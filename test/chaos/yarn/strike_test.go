//go:build chaos

package yarn

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/muster-project/muster/hadoop/conf"
	"github.com/muster-project/muster/plan"
)

// coordinator is the process of the present one.
func (j *journey) coordinator() (found process) {
	j.t.Helper()
	until(j.t, "a coordinator runs", 50*time.Millisecond, func() bool {
		for _, p := range j.processes(j.app) {
			if p.coordinator() && runs(p.pid) {
				found = p
				return true
			}
		}
		return false
	})
	return found
}

// executor is the process of a task's. Before the roll call it is the one that is
// frozen.
func (j *journey) executor(id plan.TaskID) (found process) {
	j.t.Helper()
	until(j.t, "an executor of "+id.String()+" runs", 100*time.Millisecond, func() bool {
		slot := j.task(id).Slot
		for _, p := range j.processes(j.app) {
			if p.executor() && (j.moment == rollCall && p.pid == int(j.frozen.Load()) || j.moment != rollCall && p.container == slot) {
				found = p
				return true
			}
		}
		return false
	})
	return found
}

func (j *journey) killCoordinator(string) {
	kill(j.t, j.coordinator().pid, syscall.SIGKILL)
	j.struck()
}

// killWriter kills the coordinator while a write of its journal is under way: the
// DataNode doesn't answer then.
func (j *journey) killWriter(moment string) {
	p := j.coordinator()
	for _, dn := range j.daemons("dn") {
		j.can(j.cluster.Pause(j.t.Context(), dn))
	}
	j.stall(moment)
	kill(j.t, p.pid, syscall.SIGKILL)
	for _, dn := range j.daemons("dn") {
		j.can(j.cluster.Resume(j.t.Context(), dn))
	}
	j.struck()
}

// stall lets time pass in which the coordinator has something to write: what the
// training reports is written every two seconds.
func (j *journey) stall(moment string) {
	if moment == training {
		rest(j.t.Context(), 2500*time.Millisecond)
	} else {
		rest(j.t.Context(), time.Second)
	}
}

func (j *journey) can(err error) {
	j.t.Helper()
	if err != nil {
		j.t.Fatal(err)
	}
}

// lose ends a node with all that runs on it, waits until that is noticed, and
// brings it back.
func (j *journey) lose(node string) {
	j.hit = j.works(node)
	j.can(j.cluster.Lose(j.t.Context(), node))
	j.struck()
	j.noticed(node)
	j.can(errors.Join(j.cluster.Start(j.t.Context(), node), j.cluster.Wait(j.t.Context())))
}

// noticed waits until the ResourceManager has given a node up, which takes as
// long as it is configured to: it looks three times in that while.
func (j *journey) noticed(node string) {
	j.t.Helper()
	begin := time.Now()
	until(j.t, node+" counts as lost", look, func() bool {
		states, err := j.cluster.NodeStates(j.t.Context())
		return err == nil && states[node] == "LOST"
	})
	took := time.Since(begin)
	if most := j.expiry()*4/3 + slack; took > most {
		j.t.Errorf("%s: counts as lost after %s, want at most %s", node, took, most)
	}
	j.t.Logf("%s: was lost at %s and counted so %.1f s later", node, begin.Format(time.TimeOnly), took.Seconds())
}

// slack is what a busy machine may add to a time that is configured.
const slack = 20 * time.Second

func (j *journey) expiry() time.Duration {
	c, err := conf.Load(j.conf)
	j.can(err)
	return c.Duration("yarn.nm.liveness-monitor.expiry-interval-ms", 10*time.Minute, time.Millisecond)
}

func (j *journey) loseCoordinator(string) { j.lose(j.coordinator().node) }

// loseNode loses the node of a task, or one that may hold something for it.
func (j *journey) loseNode(moment string) {
	if moment == gathering {
		j.lose("nm2")
		return
	}
	node := j.executor(j.victim).node
	j.lose(node)
	if moment == training {
		j.told(node)
	}
}

// told waits until the job's journal names a node as lost.
func (j *journey) told(node string) {
	j.t.Helper()
	id, err := j.cluster.Node(node)
	j.can(err)
	until(j.t, "the journal says that "+id+" was lost", look, func() bool {
		out, _, err := j.muster("events", j.id)
		return err == nil && slices.ContainsFunc(strings.Split(out, "\n"), func(line string) bool {
			return strings.Contains(line, "lost") && strings.Contains(line, id)
		})
	})
}

// twoCoordinators stops the coordinator's clock, and its node's, until the next
// one has the job. Then it goes on, must find that out, and leave.
func (j *journey) twoCoordinators(string) {
	old := j.coordinator()
	before := j.now().Term
	kill(j.t, old.pid, syscall.SIGSTOP)
	j.can(j.cluster.Kill(j.t.Context(), old.node))
	j.struck()
	until(j.t, "the next coordinator has the job", look, func() bool { v, ok := j.view(j.id); return ok && v.Term > before })
	kill(j.t, old.pid, syscall.SIGCONT)
	until(j.t, "the superseded coordinator leaves", 50*time.Millisecond, func() bool { return !runs(old.pid) })
	j.can(errors.Join(j.cluster.Start(j.t.Context(), old.node), j.cluster.Wait(j.t.Context())))
}

func (j *journey) killExecutor(string) {
	kill(j.t, j.executor(j.victim).pid, syscall.SIGKILL)
	j.struck()
}

func (j *journey) killTask(string) {
	pids := j.task(j.victim).PIDs
	if len(pids) == 0 {
		j.t.Fatalf("%s: no process is known", j.victim)
	}
	kill(j.t, pids[0], syscall.SIGKILL)
	j.struck()
}

// again kills a daemon, and starts it after a while.
func (j *journey) again(name string, after time.Duration) {
	j.can(j.cluster.Kill(j.t.Context(), name))
	j.struck()
	rest(j.t.Context(), after)
	j.can(errors.Join(j.cluster.Start(j.t.Context(), name), j.cluster.Wait(j.t.Context())))
}

func (j *journey) killNodeManager(moment string) {
	node := j.coordinator().node
	if moment != gathering && j.r.IntN(2) == 0 {
		node = j.executor(j.victim).node
	}
	here, begin := j.works(node), time.Now()
	j.again(node, time.Second)
	if j.counted(node, begin) {
		j.t.Logf("%s: was back after %.1f s, and counts as lost after %s", node, time.Since(begin).Seconds(), j.expiry())
		if j.hit = here; here {
			j.told(node)
		}
	}
}

// works says that an executor of the job is on a node.
func (j *journey) works(node string) bool {
	return slices.ContainsFunc(j.processes(j.app), func(p process) bool { return p.node == node && p.executor() })
}

// counted says that a ResourceManager has counted a node as lost since then. A
// machine that is busy may take so long to start a NodeManager that this is right.
func (j *journey) counted(node string, since time.Time) bool {
	id, err := j.cluster.Node(node)
	j.can(err)
	return slices.ContainsFunc(j.logged(id+" Node Transitioned from RUNNING to LOST"), func(at time.Time) bool {
		return !at.Before(since.Truncate(time.Second))
	})
}

func (j *journey) killResourceManager(string) {
	for _, rm := range j.daemons("rm") {
		j.can(j.cluster.Kill(j.t.Context(), rm))
	}
	j.struck()
	rest(j.t.Context(), time.Second)
	for _, rm := range j.daemons("rm") {
		j.can(j.cluster.Start(j.t.Context(), rm))
	}
	j.can(j.cluster.Wait(j.t.Context()))
}

func (j *journey) killNameNode(string) {
	all := j.daemons("nn")
	for _, nn := range all {
		j.can(j.cluster.Kill(j.t.Context(), nn))
	}
	j.struck()
	rest(j.t.Context(), 2*time.Second)
	for _, nn := range all {
		j.can(j.cluster.Start(j.t.Context(), nn))
	}
	j.can(errors.Join(j.cluster.Promote(j.t.Context()), j.cluster.Wait(j.t.Context())))
}

// killDataNode restarts a DataNode under a write that is under way.
func (j *journey) killDataNode(moment string) {
	dn := j.daemons("dn")[0]
	j.can(j.cluster.Pause(j.t.Context(), dn))
	j.stall(moment)
	j.again(dn, 0)
}

// failOverResourceManager kills the active one; ZooKeeper elects the other.
func (j *journey) failOverResourceManager(string) { j.failOver("rm") }

// failOverNameNode makes the standby the active one, every second time because
// the active one is dead.
func (j *journey) failOverNameNode(string) {
	if j.r.IntN(2) == 0 {
		j.failOver("nn")
		return
	}
	old, err := j.cluster.Active(j.t.Context(), "nn")
	j.can(err)
	j.can(j.cluster.Kill(j.t.Context(), old))
	j.failOver("nn")
	j.can(errors.Join(j.cluster.Start(j.t.Context(), old), j.cluster.Wait(j.t.Context())))
}

func (j *journey) failOver(kind string) {
	j.struck()
	_, err := j.cluster.Failover(j.t.Context(), kind)
	j.can(errors.Join(err, j.cluster.Wait(j.t.Context())))
}

// rolled are the times at which the ResourceManagers made new keys.
func (j *journey) rolled() []time.Time { return j.logged("Rolling master-key for ") }

// logged are the times at which the ResourceManagers wrote a text into their logs.
func (j *journey) logged(what string) (out []time.Time) {
	for _, rm := range j.daemons("rm") {
		text, err := os.ReadFile(filepath.Join(j.cluster.Dir, "logs", rm+".log"))
		j.can(err)
		for line := range strings.Lines(string(text)) {
			if len(line) > 19 && strings.Contains(line, what) {
				if at, err := time.ParseInLocation(time.DateTime, line[:19], time.Local); err == nil {
					out = append(out, at)
				}
			}
		}
	}
	slices.SortFunc(out, time.Time.Compare)
	return out
}

// nearRoll waits until keys are about to be rolled, so that the moment need not
// be held open for the whole of their life.
func (j *journey) nearRoll() {
	c, err := conf.Load(j.conf)
	j.can(err)
	every := c.Duration("yarn.resourcemanager.nm-tokens.master-key-rolling-interval-secs", 24*time.Hour, time.Second)
	const early = 8 * time.Second
	until(j.t, "keys are about to be rolled", look, func() bool {
		all := j.rolled()
		if len(all) == 0 {
			return false
		}
		rest := every - time.Since(all[len(all)-1])
		return 0 < rest && rest < early
	})
}

// rollKeys waits until the ResourceManager has made new keys, which is so often
// that other faults of the training may have taken as long.
func (j *journey) rollKeys(moment string) {
	since := time.Now()
	if moment == training {
		since = j.begun
	}
	j.struck()
	until(j.t, "keys are rolled", look, func() bool {
		all := j.rolled()
		return len(all) > 0 && all[len(all)-1].After(since)
	})
}

// killClient kills who follows the job, and the user's server if there is one.
func (j *journey) killClient(string) {
	if j.follower != nil {
		j.follower.kill()
	}
	for _, pid := range j.ours("serve") {
		kill(j.t, pid, syscall.SIGKILL)
	}
	j.struck()
	j.follower = j.follow()
}
