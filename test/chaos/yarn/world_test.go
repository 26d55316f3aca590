//go:build chaos

package yarn

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/muster-project/muster/session"
	"github.com/muster-project/muster/test/cluster/hadoop/lab"
	"github.com/muster-project/muster/test/cluster/kdc"
)

// patience bounds every wait; the machines of tests are slow.
const patience = 5 * time.Minute

// look is how often somebody else is asked, each time by a process of its own:
// asking more often is what makes machines slow.
const look = 500 * time.Millisecond

// world is a user with a home of muster, on a cluster that is ours alone.
type world struct {
	home, conf string
	cluster    *lab.Cluster
	environ    []string // of clients
	kerberos   string   // krb5.conf; empty where everybody is who he says
}

func newWorld(t *testing.T) *world {
	if *muster == "" || *torch == "" || os.Getenv("HADOOP_CONF_DIR") == "" {
		t.Fatal("-muster, -torch and HADOOP_CONF_DIR: must be given: make test and make chaos do")
	}
	home, err := os.MkdirTemp("", "chaos")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{home: home, conf: os.Getenv("HADOOP_CONF_DIR")}
	if w.cluster, err = lab.Open(w.conf); err != nil {
		t.Fatal(err)
	}
	w.environ = append(os.Environ(), "MUSTER_HOME="+home, "HADOOP_CONF_DIR="+w.conf, "MUSTER_SITE=")
	if w.kerberos, _ = w.cluster.Kerberos(); w.kerberos == "" {
		w.environ = append(w.environ, "HADOOP_USER_NAME="+user)
	} else {
		if err := w.cluster.Ticket(t.Context(), user, w.ticket(), 12*time.Hour); err != nil {
			t.Fatal(err)
		}
		w.environ = append(w.environ, "KRB5_CONFIG="+w.kerberos, "KRB5CCNAME=FILE:"+w.ticket())
	}
	t.Cleanup(func() {
		if _, said, err := w.muster("serve", "--stop"); err != nil {
			t.Errorf("serve --stop: %v: %s", err, said)
		}
		if t.Failed() {
			t.Logf("kept for a look: %s", home)
		} else {
			os.RemoveAll(home)
		}
	})
	return w
}

// user is whose jobs these are, and ticket the cache of proofs for that.
const user = "alice"

func (w *world) ticket() string { return filepath.Join(w.home, "ticket") }

// keys are the settings by which a job outlives its first tokens, which end within
// minutes here.
func (w *world) keys() string {
	if w.kerberos == "" {
		return ""
	}
	_, keytabs := w.cluster.Kerberos()
	return fmt.Sprintf("keytab: %q, principal: %s@%s, ", filepath.Join(keytabs, user+".keytab"), user, kdc.Realm)
}

// ha says that the cluster has a second one of each master.
func (w *world) ha() bool { return len(w.daemons("rm")) > 1 }

// daemons are the names of the cluster's daemons of a kind.
func (w *world) daemons(kind string) []string {
	var out []string
	for _, n := range w.cluster.Names() {
		if strings.TrimRight(n, "0123456789") == kind {
			out = append(out, n)
		}
	}
	return out
}

// mend brings the cluster back after a journey that failed in the middle.
func (w *world) mend(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	all, err := w.cluster.Daemons(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range all {
		if d.PID == 0 {
			err = errors.Join(err, w.cluster.Start(ctx, d.Name))
		} else {
			_ = w.cluster.Resume(ctx, d.Name)
		}
	}
	if _, none := w.cluster.Active(ctx, "nn"); none != nil {
		err = errors.Join(err, w.cluster.Promote(ctx))
	}
	if err := errors.Join(err, w.cluster.Wait(ctx), w.cluster.KillApplications(ctx)); err != nil {
		t.Fatal(err)
	}
}

func (w *world) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, *muster, args...)
	cmd.Env = w.environ
	cmd.WaitDelay = time.Second
	return cmd
}

// muster runs one verb.
func (w *world) muster(args ...string) (out, said string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := w.command(ctx, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	return stdout.String(), stderr.String(), err
}

// submit submits a job file and returns the job's id and its application.
func (w *world) submit(t *testing.T, file string) (id, app string) {
	t.Helper()
	out, said, err := w.muster("submit", "--on", "yarn", "-o", "name", file)
	if err != nil {
		t.Fatalf("submit: %v: %s", err, said)
	}
	id = strings.TrimSpace(out)
	apps, err := w.cluster.Applications(t.Context())
	for _, a := range apps {
		if strings.Contains(a.Tags, "muster:"+strings.ToLower(id)) {
			return id, a.ID
		}
	}
	t.Fatalf("%s: no application has its tag: %v", id, err)
	return "", ""
}

// view asks for a job; false while nobody can be asked.
func (w *world) view(id string) (session.View, bool) {
	var v session.View
	out, _, err := w.muster("status", "-o", "json", id)
	return v, err == nil && json.Unmarshal([]byte(out), &v) == nil
}

// until waits for something, looking as often as every says.
func until(t *testing.T, what string, every time.Duration, ok func() bool) {
	t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-limit.C:
			t.Fatalf("after %s still not: %s", patience, what)
		}
	}
}

// rest lets time pass in which something is to go on, or wrong.
func rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// process is one that works for an application: in a directory of it.
type process struct {
	pid       int
	place     string // its working directory
	command   string
	container string
	node      string // nm1
}

// processes lists those of an application.
func (w *world) processes(app string) (out []process) {
	paths, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, p := range paths {
		place, err := os.Readlink(p)
		if err != nil || !strings.Contains(place, app) {
			continue
		}
		command, _ := os.ReadFile(filepath.Join(filepath.Dir(p), "cmdline"))
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(p)))
		q := process{pid: pid, place: place, command: strings.TrimSpace(strings.ReplaceAll(string(command), "\x00", " "))}
		parts := strings.Split(place, "/")
		for i, part := range parts {
			if strings.HasPrefix(part, "container_") {
				q.container = part
			}
			if strings.HasPrefix(part, "nm") && i > 0 && parts[i-1] == "data" {
				q.node = part
			}
		}
		out = append(out, q)
	}
	return out
}

func (p process) coordinator() bool { return strings.HasPrefix(p.command, "./muster coordinator") }
func (p process) executor() bool    { return strings.HasPrefix(p.command, "./executor container") }

// runs says that a process lives and is not a zombie.
func runs(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	rest := stat[bytes.LastIndexByte(stat, ')')+1:]
	return !strings.HasPrefix(strings.TrimSpace(string(rest)), "Z")
}

func kill(t *testing.T, pid int, sig syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, sig); err != nil {
		t.Fatalf("kill %d: %v", pid, err)
	}
}

// ours are processes of this world's home: clients and servers.
func (w *world) ours(verb string) (pids []int) {
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, p := range paths {
		command, _ := os.ReadFile(p)
		environ, _ := os.ReadFile(filepath.Join(filepath.Dir(p), "environ"))
		args := strings.Split(string(command), "\x00")
		if len(args) > 1 && args[1] == verb && slices.Contains(strings.Split(string(environ), "\x00"), "MUSTER_HOME="+w.home) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(p)))
			pids = append(pids, pid)
		}
	}
	return pids
}
