package conformance

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/muster-project/muster/api"
	"github.com/muster-project/muster/backend/backendtest"
	"github.com/muster-project/muster/backend/local"
	"github.com/muster-project/muster/cli"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
	storage "github.com/muster-project/muster/storage/local"
)

// verbs are what this test binary does when the parts of muster start it.
var verbs = map[string]bool{"serve": true, "coordinator": true, "executor": true, "guardian": true}

// muster runs the real command line, if this process is one of muster's parts. On
// a cluster the executor is known by its name.
func muster() (status int, is bool) {
	if filepath.Base(os.Args[0]) != "executor" && (len(os.Args) < 2 || !verbs[os.Args[1]]) {
		return 0, false
	}
	signals := cli.Notify()
	dir, _ := os.Getwd()
	return cli.Run(cli.Env{Args: os.Args, Environ: os.Environ(), Dir: dir, Stdin: os.Stdin, Stdout: os.Stdout,
		Stderr: os.Stderr, Signals: signals, Now: time.Now}), true
}

// site is one server with its home and its claims.
type site struct {
	t      *testing.T
	home   string
	client *api.Client
	server *exec.Cmd
}

func (s *site) env() []string {
	return append(os.Environ(), "MUSTER_HOME="+s.home, "MUSTER_CLAIMS="+s.ledger().Dirs[0])
}

func (s *site) ledger() local.Ledger {
	return local.Ledger{Dirs: []string{filepath.Join(s.home, "claims")}}
}

func (s *site) start() {
	s.server = exec.Command("/proc/self/exe", "serve", "--cpus", "3", "--idle", "0")
	s.server.Env = s.env()
	s.server.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := s.server.Start(); err != nil {
		s.t.Fatal(err)
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	limit := time.NewTimer(20 * time.Second)
	defer limit.Stop()
	for {
		if _, err := s.client.Hello(context.Background()); err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-limit.C:
			s.t.Fatal("the server does not answer")
		}
	}
}

func (s *site) kill() {
	_ = s.server.Process.Kill()
	_ = s.server.Wait()
}

// claims are the living claims of a job.
func (s *site) claims(id string) (out []local.Claim) {
	unlock, err := s.ledger().Lock(context.Background())
	if err != nil {
		s.t.Fatal(err)
	}
	defer unlock()
	all, err := s.ledger().Living()
	if err != nil {
		s.t.Fatal(err)
	}
	for _, c := range all {
		if c.Job == id {
			out = append(out, c)
		}
	}
	return out
}

// left names the processes and cgroups of a job.
func (s *site) left(id string) (out []string) {
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, p := range paths {
		env, _ := os.ReadFile(filepath.Join(filepath.Dir(p), "environ"))
		cmd, _ := os.ReadFile(p)
		if strings.Contains(string(env), "MUSTER_JOB="+id+"\x00") || strings.Contains(string(cmd), "/"+id) {
			out = append(out, filepath.Base(filepath.Dir(p))+" "+strings.ReplaceAll(string(cmd), "\x00", " "))
		}
	}
	groups, _ := filepath.Glob("/sys/fs/cgroup/*/muster/*" + id + "*")
	for _, c := range s.claims(id) {
		out = append(out, "claim of "+c.Slot)
	}
	return append(out, groups...)
}

// lose kills the executor of a task.
func (s *site) lose(id string, task plan.TaskID) error {
	for _, c := range s.claims(id) {
		if c.Task != task {
			continue
		}
		start := filepath.Join(s.home, "jobs", id, "slots", c.Slot)
		paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, p := range paths {
			cmd, _ := os.ReadFile(p)
			if strings.Contains(string(cmd), start) && strings.Contains(string(cmd), "\x00run\x00") {
				pid, err := strconv.Atoi(filepath.Base(filepath.Dir(p)))
				if err != nil {
					return err
				}
				return syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	}
	return fmt.Errorf("%s: %s has no executor", id, task)
}

// takeover starts one more coordinator. The lock, which is there to prevent just
// that, is put out of its way.
func (s *site) takeover(id string) error {
	dir := filepath.Join(s.home, "jobs", id)
	if err := os.Remove(filepath.Join(dir, local.LockFile)); err != nil {
		return err
	}
	cmd := exec.Command("/proc/self/exe", "coordinator", "--job", dir)
	cmd.Env = s.env()
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	s.t.Cleanup(func() { _ = cmd.Wait() })
	return nil
}

// words turns a script of the fake into one of the shell.
func words(list ...string) spec.Command {
	var b strings.Builder
	for _, w := range list {
		if n, rest, ok := strings.Cut(w, ":"); ok && len(n) == 1 {
			fmt.Fprintf(&b, `[ "${MUSTER_DIR##*/}" != %s ] || `, n)
			w = rest
		}
		verb, arg, _ := strings.Cut(w, "=")
		switch verb {
		case "print":
			fmt.Fprintf(&b, "echo %s\n", arg)
		case "sleep":
			d, _ := time.ParseDuration(arg)
			fmt.Fprintf(&b, "sleep %g\n", d.Seconds())
		case "exit":
			fmt.Fprintf(&b, "exit %s\n", arg)
		case "kill":
			fmt.Fprintf(&b, "kill -%s $$\n", strings.TrimPrefix(arg, "SIG"))
		}
	}
	return spec.Command{Shell: b.String()}
}

func TestLocalConformance(t *testing.T) {
	s := &site{t: t, home: t.TempDir()}
	s.client = api.NewClient(api.Socket(s.home), nil)
	s.start()
	t.Cleanup(func() {
		if err := s.client.Shutdown(context.Background(), false); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		_ = s.server.Wait()
		s.client.Close()
	})
	backendtest.Run(t, &backendtest.Harness{Backend: local.New(s.client), FS: storage.FS{}, Slots: 3, Patience: 60 * time.Second,
		Command: words, Lose: s.lose, Takeover: s.takeover,
		Blind: func(on bool) {
			if on {
				s.kill()
			} else {
				s.start()
			}
		},
		Held: func(id string) int { return len(s.claims(id)) },
		Left: s.left,
	})
}
