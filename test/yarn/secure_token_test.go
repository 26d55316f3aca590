//go:build hadoop

package yarn

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/hadoop/conf"
	"github.com/muster-project/muster/test/train"
)

// tokenLife is how long a token of the NameNode lives whatever is done.
func (w *world) tokenLife() time.Duration {
	w.t.Helper()
	c, err := conf.Load(w.conf)
	if err != nil {
		w.t.Fatal(err)
	}
	return c.Duration("dfs.namenode.delegation.token.max-lifetime", 7*24*time.Hour, time.Millisecond)
}

// rolled is after how long the keys of all tokens that a coordinator lives on have
// been rolled, and the old ones are dead.
func (w *world) rolled() time.Duration {
	w.t.Helper()
	c, err := conf.Load(w.conf)
	if err != nil {
		w.t.Fatal(err)
	}
	var longest time.Duration
	for _, kind := range []string{"am-rm-tokens", "nm-tokens", "container-tokens"} {
		every := time.Duration(c.Int("yarn.resourcemanager."+kind+".master-key-rolling-interval-secs", 86400)) * time.Second
		longest = max(longest, every)
	}
	expiry := c.Duration("yarn.am.liveness-monitor.expiry-interval-ms", 10*time.Minute, time.Millisecond)
	if longest > 2*time.Minute {
		w.t.Fatalf("keys are rolled every %v here: mode secure of test/cluster/hadoop rolls them every minute", longest)
	}
	return longest + expiry*3/2
}

// What a job lives on wears out while it runs: its tokens of HDFS, the
// coordinator's own, and those for nodes. With a keytab nobody notices. Tasks get
// the tokens of file systems and nothing else, and can use them all the time; a
// container that starts when the keys of all others have been rolled is none the
// worse for it, nor a coordinator that starts when the submission's tokens are dead;
// the keytab goes with the job. Without one the end is foretold.
//
// Where tokens live for longer than a minute, as on mode secure, it takes longer.
func TestSecureTokensWearOut(t *testing.T) {
	w := newSecureWorld(t, "alice")
	if life := w.tokenLife(); testing.Short() && life > 2*time.Minute {
		t.Fatalf("tokens live for %v here: it is run where they live for a minute, on mode integrity", life)
	}
	files := w.files()
	mortal := w.submit("-N", "1", "--memory", "256MiB", "--name", "mortal", "--workdir", "none", "--", "sleep", "300")
	keytab, principal := w.keytab()
	args := []string{"-N", "2", "--memory", "256MiB", "--name", "outlives", "--workdir", "none", "--restarts", "1",
		"--native", "keytab=" + keytab, "--native", "principal=" + principal, "--"}
	marker := filepath.Join(t.TempDir(), "lost")
	id := w.submit(append(args, taskCommand(t, "outlive", w.conf, w.rolled().String(), marker)...)...)

	w.foretold(mortal)
	lies := path.Join(w.until(id, "running", running).Dir, "keytab")
	if info, err := files.Stat(t.Context(), lies); err != nil || info.Mode() != 0o400 {
		t.Errorf("%s: %v, %v", lies, info.Mode(), err)
	}
	w.eventually("a task runs in a new container", func() bool { _, err := os.Stat(marker + ".again"); return err == nil })
	w.killCoordinator(id)
	w.until(id, "taken over", func(v view) bool { return v.Term == 2 })
	if err := os.WriteFile(marker+".over", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if o := w.wait(id); o.State != event.Succeeded {
		t.Fatalf("%+v\n%s\n%s", o, w.must("events", id), w.logs(id))
	}
	for _, name := range []string{lies, path.Join(path.Dir(lies), "krb5.conf")} {
		if _, err := files.Stat(t.Context(), name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is still there: %v", name, err)
		}
	}
	w.outlived(id)
	if t.Failed() {
		t.Logf("events:\n%s\nlogs:\n%s", w.must("events", id), w.logs(id))
	}
}

// foretold waits until a job tells that its tokens will end, and ends it.
func (w *world) foretold(id string) {
	w.t.Helper()
	v := w.until(id, "warned", func(v view) bool { return len(v.Warned) > 0 || v.Outcome != nil })
	if v.Outcome != nil {
		w.t.Fatalf("%+v\n%s", v.Outcome, w.must("events", id))
	}
	if !strings.Contains(v.Warned[0], "tokens for HDFS end on "+time.Now().UTC().Format("Mon, 02 Jan 2006")) || len(v.Warned) != 1 {
		w.t.Errorf("warned %q", v.Warned)
	}
	if out := w.must("status", id); !strings.Contains(out, "warning    the job's tokens for HDFS end on ") {
		w.t.Errorf("status:\n%s", out)
	}
	if out := w.must("events", id); !strings.Contains(out, "job.warned") || !strings.Contains(out, "native.yarn.keytab") {
		w.t.Errorf("events:\n%s", out)
	}
	w.must("stop", "--now", id)
	w.wait(id)
}

// killCoordinator ends the coordinator of one job, as its application is noted on
// this machine.
func (w *world) killCoordinator(id string) {
	w.t.Helper()
	note, err := os.ReadFile(filepath.Join(w.home, "remote", id, "job.json"))
	if err != nil {
		w.t.Fatal(err)
	}
	app := train.All(`"native": "(application_[0-9_]+)"`, string(note))
	if len(app) != 1 {
		w.t.Fatalf("%s: no application noted: %s", id, note)
	}
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		command, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		place, _ := os.Readlink(filepath.Join(dir, "cwd"))
		if strings.Contains(place, app[0][1]) && strings.HasPrefix(string(command), "./muster\x00coordinator") {
			pid, err := strconv.Atoi(filepath.Base(dir))
			if err == nil {
				err = syscall.Kill(pid, syscall.SIGKILL)
			}
			if err != nil {
				w.t.Fatal(err)
			}
			return
		}
	}
	w.t.Fatalf("%s: no coordinator runs", id)
}

// outlived looks at a job that ran longer than its first tokens.
func (w *world) outlived(id string) {
	w.t.Helper()
	out := w.logs(id)
	// Three starts of tasks, the last one in a new container.
	for text, n := range map[string]int{"file -rw-------, 0 secrets, here false\n": 3, "has HDFS_DELEGATION_TOKEN for ": 3, "has ": 3, "again\n": 1, "leak": 0} {
		if got := strings.Count(out, text); got != n {
			w.t.Errorf("%q: %d times, want %d", text, got, n)
		}
	}
	var tokens []string
	for i, s := range train.All(`task/0 \| step (\d+) token (\d+)`, out) {
		if s[1] != strconv.Itoa(i+1) {
			w.t.Errorf("step %s after %d: the task was started anew", s[1], i)
		}
		tokens = append(tokens, s[2])
	}
	if steps, n := len(tokens), len(slices.Compact(tokens)); n < 2 {
		w.t.Errorf("%d tokens in %d steps", n, steps)
	}
	end, over := train.All(`task/0 \| end (\d+)`, out), train.All(`task/0 \| over (\d+)`, out)
	if len(end) != 1 || len(over) != 1 || end[0][1] >= over[0][1] {
		w.t.Fatalf("end %v, over %v\n%s", end, over, out)
	}
	// The executor has kept the logs until the last word; the coordinator its history.
	ms, err := strconv.ParseInt(end[0][1], 10, 64)
	if err != nil {
		w.t.Fatal(err)
	}
	late := 0
	for line := range strings.Lines(w.must("events", "-o", "json", id)) {
		var e struct {
			At time.Time `json:"at"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			w.t.Fatalf("%q: %v", line, err)
		}
		if e.At.After(time.UnixMilli(ms)) {
			late++
		}
	}
	if late < 5 {
		w.t.Errorf("%d facts were written after the first token's end", late)
	}
	if v := w.status(id); v.Term != 2 || v.Restarts > 1 || len(v.Warned) > 0 {
		w.t.Errorf("term %d, %d restarts, warned %q", v.Term, v.Restarts, v.Warned)
	}
}

// A keytab that will not do is told before anything is submitted.
func TestSecureKeytabIsTriedBefore(t *testing.T) {
	w := newSecureWorld(t, "alice")
	alice, principal := w.keytab()
	bob := filepath.Join(filepath.Dir(alice), "bob.keytab")
	junk := filepath.Join(t.TempDir(), "junk")
	if err := os.WriteFile(junk, []byte("junk"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		file, principal string
		want            []string // none: it will do
	}{
		{alice, principal, nil},
		{bob, principal, []string{"native.yarn.keytab: ", "no key of " + principal, "it holds bob@LAB.TEST"}},
		{bob, "bob@LAB.TEST", []string{"native.yarn.keytab: ", "not allowed to impersonate alice", "hint: take a keytab of alice"}},
		{junk, principal, []string{"native.yarn.keytab: ", "not a keytab"}},
		{junk + "er", principal, []string{"native.yarn.keytab: ", "no such file"}},
	} {
		out, said, status := w.muster("plan", "--on", "yarn", "-N", "1", "--memory", "256MiB", "--workdir", "none",
			"--native", "keytab="+tc.file, "--native", "principal="+tc.principal, "--", "true")
		if (status == 0) != (tc.want == nil) {
			t.Errorf("%s of %s: status %d\n%s%s", tc.file, tc.principal, status, out, said)
		}
		for _, text := range tc.want {
			if !strings.Contains(said, text) {
				t.Errorf("%s of %s: not told %q:\n%s", tc.file, tc.principal, text, said)
			}
		}
	}
}
