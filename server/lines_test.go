package server_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/muster-project/muster/api"
	"github.com/muster-project/muster/backend"
)

// muster lets somebody use the command line at an administrator's server.
func (w *world) muster(who *syscall.Credential, args ...string) (out, problem string) {
	w.t.Helper()
	cmd := as(who, "as-muster", args...)
	cmd.Env = append(os.Environ(), "MUSTER_SOCKET="+api.Socket(w.state), "MUSTER_HOME=/nonexistent")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	_ = cmd.Run() // what it says is what counts
	return stdout.String(), stderr.String()
}

// Who may see a job on a server of all users reads its logs, with the rights of
// the job's owner: a link leads to what is the owner's, and nowhere else.
func TestOthersReadTheLogsOfAJobThatTheyMaySee(t *testing.T) {
	if os.Getuid() != 0 {
		t.Log("needs root; see TestAServerForAllUsersMustBeRoots")
		return
	}
	w := newSharedWorld(t)
	w.spawn("0s", true)
	answer, refusal := w.ask(ada, "submit-talking", idA)
	if refusal != "" {
		t.Fatal(refusal)
	}
	var ref backend.Ref
	if err := json.Unmarshal([]byte(answer), &ref); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a task has started", func() bool {
		out, _ := w.muster(ada, "events", "-o", "json", idA)
		return strings.Contains(out, "task.started")
	})
	for _, tc := range []struct {
		who          *syscall.Credential
		args         []string
		out, problem string
	}{
		{bob, []string{"logs", idA}, "worker/0 | loss 0.5\n", "worker/0 | careful␛]0;evil␇\n"},
		{bob, []string{"logs", "--stream", "err", "--no-prefix", "--grep", "car.ful", "--tail", "5", "--since", "10m", idA}, "", "careful␛]0;evil␇\n"},
		{bob, []string{"logs", "--grep", "nothing", idA}, "", ""},
		{bob, []string{"ps", "-o", "name"}, "", ""},
		{ada, []string{"ps", "-o", "name"}, idA + "\n", ""},
		{ada, []string{"ps", "--all-users", "-o", "name"}, idA + "\n", ""},
		{ada, []string{"logs", "--stream", "out", idA}, "worker/0 | loss 0.5\n", ""},
		{bob, []string{"ps", "--all-users", "-o", "name"}, idA + "\n", ""},
		{eve, []string{"ps", "--all-users", "-o", "name"}, "", ""},
		{eve, []string{"logs", idA}, "", "muster: " + idA + ": 63004 may not see it: it is 63001's job\n" +
			"hint: 63001 names who else may, by acls.view in the job file\n"},
	} {
		if out, problem := w.muster(tc.who, tc.args...); out != tc.out || problem != tc.problem {
			t.Errorf("%d, muster %q: %q, %q; want %q, %q", tc.who.Uid, tc.args, out, problem, tc.out, tc.problem)
		}
	}

	secret := filepath.Join(filepath.Dir(w.state), "secret")
	log := filepath.Join(ref.Dir, "tasks", "worker-0", "1", "logs", "0.out")
	if err := errors.Join(os.WriteFile(secret, []byte("root's own\n"), 0o600), os.Remove(log), os.Symlink(secret, log)); err != nil {
		t.Fatal(err)
	}
	if out, problem := w.muster(bob, "logs", idA); strings.Contains(out+problem, "root's") || !strings.Contains(problem, "permission denied") {
		t.Errorf("through a link that ada may not follow: %q, %q", out, problem)
	}
}

// Somebody who follows is told of what comes, and is done with the job; no reader
// stays behind when they leave earlier.
func TestOthersFollowTheLogsOfAJob(t *testing.T) {
	if os.Getuid() != 0 {
		t.Log("needs root; see TestAServerForAllUsersMustBeRoots")
		return
	}
	w := newSharedWorld(t)
	w.spawn("0s", true)
	if _, refusal := w.ask(ada, "submit-talking", idA); refusal != "" {
		t.Fatal(refusal)
	}
	leaver := as(bob, "as-muster", "logs", "-f", "--stream", "out", idA)
	leaver.Env = append(os.Environ(), "MUSTER_SOCKET="+api.Socket(w.state), "MUSTER_HOME=/nonexistent")
	pipe, err := leaver.StdoutPipe()
	if err := errors.Join(err, leaver.Start()); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, len("worker/0 | loss 0.5\n"))
	if _, err := pipe.Read(line); err != nil || string(line) != "worker/0 | loss 0.5\n" {
		t.Errorf("the leaver reads %q, %v", line, err)
	}
	if n := w.readers(); n != 1 {
		t.Errorf("%d readers for one person", n)
	}
	leaver.Process.Kill()
	leaver.Wait()
	eventually(t, "the reader has gone", func() bool { return w.readers() == 0 })

	stayer := as(bob, "as-muster", "logs", "-f", "--stream", "out", idA)
	stayer.Env = leaver.Env
	var out bytes.Buffer
	stayer.Stdout, stayer.Stderr = &out, &out
	if err := stayer.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "somebody reads", func() bool { return w.readers() == 1 })
	if _, refusal := w.ask(ada, "stop", idA); refusal != "" {
		t.Error(refusal)
	}
	if err := stayer.Wait(); err != nil || out.String() != "worker/0 | loss 0.5\n" {
		t.Errorf("the stayer reads %q, %v", out.String(), err)
	}
}

// readers counts the processes of a server that read logs for others.
func (w *world) readers() (n int) {
	w.t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		w.t.Fatal(err)
	}
	for _, path := range lines {
		data, _ := os.ReadFile(path)
		words := strings.Split(string(data), "\x00")
		if slices.Contains(words, "lines") && slices.ContainsFunc(words, func(word string) bool { return strings.HasPrefix(word, "--job="+w.state) }) {
			n++
		}
	}
	return n
}
