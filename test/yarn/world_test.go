//go:build hadoop

package yarn

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	backend "github.com/muster-project/muster/backend/yarn"
	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/session"
)

var (
	muster     = flag.String("muster", "", "the muster binary")
	torch      = flag.String("torch", "", "a Python with PyTorch")
	tensorflow = flag.String("tensorflow", "", "a Python with TensorFlow")
)

// patience bounds one command; alone on two processors each takes less than a
// minute, beside a compiler many times that.
const patience = 5 * time.Minute

// world is a user with a home of muster, on the cluster of HADOOP_CONF_DIR.
type world struct {
	t    *testing.T
	home string
	user string
	conf string
	env  []string     // beside this process's: what proves who the user is
	http *http.Client // that proves it, too
}

// newWorld makes a user's world. At the test's end nothing of its jobs may be
// left on this machine, on which the nodes run, too.
func newWorld(t *testing.T) *world { return newWorldOf(t, "alice") }

func newWorldOf(t *testing.T, user string) *world {
	t.Helper()
	if *muster == "" || os.Getenv("HADOOP_CONF_DIR") == "" {
		t.Fatal("-muster and HADOOP_CONF_DIR: must be given: make test does")
	}
	home, err := os.MkdirTemp("", "muster")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, home: home, user: user, conf: os.Getenv("HADOOP_CONF_DIR")}
	t.Cleanup(func() {
		for _, r := range w.unended() {
			t.Errorf("%s: has not ended: %s", r.ID, r.State)
			w.muster("stop", "--now", r.ID)
		}
		if _, _, status := w.muster("serve", "--stop"); status != 0 {
			t.Errorf("serve --stop: status %d", status)
		}
		w.nothingLeft()
		if t.Failed() {
			t.Logf("kept for a look: %s", home)
		} else {
			os.RemoveAll(home)
		}
	})
	return w
}

// command is one verb that is not started yet.
func (w *world) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, *muster, args...)
	// Politely: muster then stops its job and says what it saw.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
	cmd.Env = append(os.Environ(), "MUSTER_HOME="+w.home, "HADOOP_CONF_DIR="+w.conf, "HADOOP_USER_NAME="+w.user, "MUSTER_SITE=")
	cmd.Env = append(cmd.Env, w.env...)
	return cmd
}

// muster runs one verb and returns its two outputs and its exit status.
func (w *world) muster(args ...string) (out, said string, status int) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := w.command(ctx, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		w.t.Fatalf("muster %s: %v", strings.Join(args, " "), err)
	}
	if err != nil {
		w.t.Logf("muster %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

// must runs a verb that has to succeed and returns its standard output.
func (w *world) must(args ...string) string {
	w.t.Helper()
	out, said, status := w.muster(args...)
	if status != 0 {
		w.t.Fatalf("muster %s: status %d\n%s%s", strings.Join(args, " "), status, out, said)
	}
	return out
}

// submit submits and returns the job's id.
func (w *world) submit(args ...string) string {
	w.t.Helper()
	return strings.TrimSpace(w.must(append([]string{"submit", "--on", "yarn", "-o", "name"}, args...)...))
}

// view is what status tells programs.
type view struct {
	session.View
	Dir string `json:"dir"`
}

func (w *world) status(id string) view {
	w.t.Helper()
	var v view
	if err := json.Unmarshal([]byte(w.must("status", "-o", "json", id)), &v); err != nil {
		w.t.Fatal(err)
	}
	return v
}

// eventually waits until something is so.
func (w *world) eventually(what string, ok func() bool) {
	w.t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	again := time.NewTicker(200 * time.Millisecond)
	defer again.Stop()
	for !ok() {
		select {
		case <-deadline.C:
			w.t.Fatalf("never: %s", what)
		case <-again.C:
		}
	}
}

// until looks at a job until it is as wanted.
func (w *world) until(id, what string, as func(view) bool) (v view) {
	w.t.Helper()
	w.eventually(id+" is "+what, func() bool { v = w.status(id); return as(v) })
	return v
}

// running says that all tasks run.
func running(v view) bool {
	for _, t := range v.Tasks {
		if t.State != "running" && t.State != "ready" {
			return false
		}
	}
	return len(v.Tasks) > 0
}

// ended is what "run -o json" and "wait -o json" print.
type ended struct {
	ID      string        `json:"id"`
	Outcome event.Outcome `json:"outcome"`
}

func (w *world) wait(id string) event.Outcome {
	w.t.Helper()
	out, said, _ := w.muster("wait", "-o", "json", id)
	var end ended
	if err := json.Unmarshal([]byte(out), &end); err != nil {
		w.t.Fatalf("wait %s: %v: %q %s", id, err, out, said)
	}
	return end.Outcome
}

// succeed runs an example and demands that it succeeds.
func (w *world) succeed(example, python string, more ...string) string {
	w.t.Helper()
	begin := time.Now()
	args := append([]string{"run", "--on", "yarn", "-o", "json", "--python", python}, more...)
	out, said, status := w.muster(append(args, filepath.Join("..", "..", "examples", example, "job.yaml"))...)
	var end ended
	if err := json.Unmarshal([]byte(out), &end); err != nil {
		w.t.Fatalf("%s: run -o json: %v: %q\n%s", example, err, out, said)
	}
	if status != 0 || end.Outcome.State != event.Succeeded {
		w.t.Fatalf("%s: status %d, outcome %+v; want success\n%s", example, status, end.Outcome, said)
	}
	w.t.Logf("%s: %s in %.1f s", example, end.ID, time.Since(begin).Seconds())
	return end.ID
}

// logs is what the tasks of a job printed, standard output before standard error.
func (w *world) logs(args ...string) string {
	w.t.Helper()
	out, said, status := w.muster(append([]string{"logs"}, args...)...)
	if status != 0 {
		w.t.Fatalf("logs %v: status %d", args, status)
	}
	return out + said
}

// unended lists jobs of this world that still go on.
func (w *world) unended() []view {
	out, _, status := w.muster("ps", "-o", "json")
	var list []view
	if status != 0 || json.Unmarshal([]byte(out), &list) != nil {
		w.t.Errorf("ps: status %d, %q", status, out)
	}
	return list
}

// getenv is the environment of the world's commands.
func (w *world) getenv(name string) string {
	value := os.Getenv(name)
	for _, v := range w.env {
		if v, ok := strings.CutPrefix(v, name+"="); ok {
			value = v
		}
	}
	return value
}

// webs is where the ResourceManagers answer by HTTP, as their configuration says.
func (w *world) webs() []string {
	w.t.Helper()
	c := backend.At(w.conf, backend.Who{User: w.user, Getenv: w.getenv})
	if err := errors.Join(c.Trouble, c.Denied); err != nil {
		w.t.Fatal(err)
	}
	if w.http == nil {
		if w.http = c.Login.HTTP(); w.http == nil {
			w.http = http.DefaultClient
		}
		w.t.Cleanup(w.http.CloseIdleConnections)
	}
	bases, err := c.Conf.RMWebURLs()
	if err != nil {
		w.t.Fatal(err)
	}
	return bases
}

// web is where the only ResourceManager, or the first one, answers.
func (w *world) web() string { return w.webs()[0] }

// rest asks the ResourceManager by HTTP: whichever of several answers.
func (w *world) rest(path string, answer any) {
	w.t.Helper()
	var all []error
	for _, base := range w.webs() {
		err := w.read(base+"/ws/v1/cluster/"+path, answer)
		if err == nil {
			return
		}
		all = append(all, err)
	}
	w.t.Fatal(errors.Join(all...))
}

func (w *world) read(address string, answer any) error {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	resp, err := w.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(answer); err != nil {
		return fmt.Errorf("%s: %s: %w", address, resp.Status, err)
	}
	return nil
}
