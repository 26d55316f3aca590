//go:build chaos

package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/history"
	"github.com/muster-project/muster/session"
	"github.com/muster-project/muster/storage/local"
	"github.com/muster-project/muster/test/chaos/record"
)

// ground is where the jobs run: one home of muster, used by all of them.
type ground struct {
	home string
	env  []string
}

func newGround(t *testing.T) *ground {
	home := t.TempDir()
	g := &ground{home: home, env: append(os.Environ(), "MUSTER_HOME="+home, "OMP_NUM_THREADS=1")}
	t.Cleanup(func() {
		if out, err := g.muster("serve", "--stop"); err != nil {
			t.Errorf("serve --stop: %v: %s", err, out)
		}
	})
	return g
}

func (g *ground) muster(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, *muster, args...)
	cmd.Env = g.env
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// patience bounds every wait; the machines of tests are slow.
const patience = 2 * time.Minute

// job is one job under fire.
type job struct {
	*ground
	t   *testing.T
	id  string
	dir string
}

// The sidecar fails as often as the moment needs: failures right after the start
// are answered more and more slowly, so that after the third one two seconds
// pass before the next roll call, while the workers already run. TensorBoard takes
// its time to end, so that a successful job stays in clearing up for a moment.
const file = `name: chaos
framework: pytorch
workdir: %s
stop_grace: 20s
roles:
  worker:
    instances: 2
    command: [%q, train.py]
    %s
  sidecar:
    restarts: 5
    command: |
      echo start >> $MUSTER_CHECKPOINT_DIR/sidecar
      if [ $(wc -l < $MUSTER_CHECKPOINT_DIR/sidecar) -le %d ]; then exit 9; fi
      exec sleep 600
  tensorboard:
    command: |
      trap 'sleep 1.5; exit 0' TERM
      while true; do sleep 0.1; done
`

// failures is how often the sidecar fails.
var failures = map[string]int{"before the roll call": 3, "during it": 3}

func (g *ground) submit(t *testing.T, f fault) *job {
	t.Helper()
	policy := "on_failure: stop"
	if f.survives {
		policy = "restarts: 3\n    restart_scope: role"
	}
	path := filepath.Join(t.TempDir(), "job.yaml")
	if err := os.WriteFile(path, fmt.Appendf(nil, file, script(t), *torch, policy, failures[f.moment]), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := g.muster("submit", "-o", "name", path)
	if err != nil {
		t.Fatalf("submit: %v: %s", err, out)
	}
	lines := strings.Fields(out)
	id := lines[len(lines)-1]
	return &job{ground: g, t: t, id: id, dir: filepath.Join(g.home, "jobs", id)}
}

func (j *job) events() []event.Event {
	var out []event.Event
	for e, err := range history.Read(context.Background(), local.FS{}, j.dir, 0) {
		if err != nil {
			break
		}
		out = append(out, e)
	}
	return out
}

func (j *job) view() session.View {
	s := session.New(session.Options{})
	for _, e := range j.events() {
		s.Evolve(e)
	}
	return s.View()
}

func (j *job) task(id string) session.TaskView {
	for _, t := range j.view().Tasks {
		if t.Task.String() == id {
			return t
		}
	}
	return session.TaskView{}
}

func (j *job) until(what string, ok func() bool) {
	j.t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-limit.C:
			v, _ := json.MarshalIndent(j.view(), "", " ")
			j.t.Fatalf("after %s still not: %s\n%s", patience, what, v)
		}
	}
}

// steps are the steps that were written down.
func (j *job) steps() []record.Step {
	return record.ReadSteps(filepath.Join(j.dir, "checkpoint", "steps"))
}

// restarts counts decisions to start tasks of a role again.
func (j *job) restarts(role string) int {
	n := 0
	for _, e := range j.events() {
		if b, ok := e.Body.(*event.RestartDecided); ok && b.Cause.Role == role {
			n++
		}
	}
	return n
}

// left names the processes that belong to the job.
func (j *job) left() (out []string) {
	paths, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, p := range paths {
		env, _ := os.ReadFile(p)
		cmd, _ := os.ReadFile(filepath.Join(filepath.Dir(p), "cmdline"))
		if bytes.Contains(env, []byte("MUSTER_JOB="+j.id)) || bytes.Contains(cmd, []byte(j.dir)) {
			out = append(out, filepath.Base(filepath.Dir(p))+" "+strings.ReplaceAll(string(cmd), "\x00", " "))
		}
	}
	return out
}

func kill(t *testing.T, pid int, sig syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, sig); err != nil {
		t.Fatalf("kill %d: %v", pid, err)
	}
}
