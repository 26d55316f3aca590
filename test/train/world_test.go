//go:build frameworks

package train

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/muster-project/muster/event"
)

var muster = flag.String("muster", "", "the muster binary")

// pythons are the interpreters that the tests were given, by what they have.
var pythons = map[string]string{}

func TestMain(m *testing.M) {
	flag.Func("python", "NAME=PATH of a Python that has a framework; may be repeated", func(s string) error {
		name, path, ok := strings.Cut(s, "=")
		if !ok || path == "" {
			return errors.New("write NAME=PATH")
		}
		pythons[name] = path
		return nil
	})
	os.Exit(m.Run())
}

// python is the interpreter with what name says.
func python(t *testing.T, name string) string {
	t.Helper()
	if pythons[name] == "" {
		t.Fatalf("-python %s=PATH: must be given: make test does", name)
	}
	return pythons[name]
}

// patience bounds one example; alone on two processors each takes less than 40
// seconds, beside a compiler many times that.
const patience = 6 * time.Minute

// world is a home of muster and a machine of its own, as far as claims go.
type world struct {
	t    *testing.T
	home string
}

// newWorld makes a world and, at the test's end, stops its server and looks at
// what is left.
func newWorld(t *testing.T) *world {
	if *muster == "" {
		t.Fatal("-muster: must be given: make test does")
	}
	home, err := os.MkdirTemp("", "muster") // t.TempDir makes paths too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, home: home}
	t.Cleanup(func() {
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

func (w *world) claims() string { return filepath.Join(w.home, "claims") }

// muster runs one verb and returns its two outputs and its exit status.
func (w *world) muster(args ...string) (out, said string, status int) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, *muster, args...)
	// Politely: muster then stops its job and says what it saw.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
	cmd.Env = append(os.Environ(), "MUSTER_HOME="+w.home, "MUSTER_CLAIMS="+w.claims())
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

// ended is what "run -o json" prints.
type ended struct {
	ID      string        `json:"id"`
	Outcome event.Outcome `json:"outcome"`
}

// succeed runs an example, demands that it succeeds, and returns its id.
func (w *world) succeed(example, python string) string {
	w.t.Helper()
	var flags []string
	if python != "" {
		flags = append(flags, "--python", python)
	}
	id, _ := w.run(example, append(flags, filepath.Join("..", "..", "examples", example, "job.yaml"))...)
	return id
}

// run runs what the words behind "muster run" say, demands that it succeeds, and
// returns its id and what muster said.
func (w *world) run(name string, words ...string) (id, said string) {
	w.t.Helper()
	begin := time.Now()
	out, said, status := w.muster(append([]string{"run", "-o", "json"}, words...)...)
	var end ended
	if err := json.Unmarshal([]byte(out), &end); err != nil {
		w.t.Fatalf("%s: run -o json: %v: %q", name, err, out)
	}
	if status != 0 || end.Outcome.State != event.Succeeded || end.Outcome.Status != 0 {
		w.t.Fatalf("%s: status %d, outcome %+v; want success", name, status, end.Outcome)
	}
	w.t.Logf("%s: %s in %.1f s", name, end.ID, time.Since(begin).Seconds())
	return end.ID, said
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
