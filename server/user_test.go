package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/muster-project/muster/api"
	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/backend/local"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/server"
)

// People who are not root. No account is needed to be somebody.
var (
	ada = &syscall.Credential{Uid: 63001, Gid: 63101, Groups: []uint32{63102, 63103}}
	bob = &syscall.Credential{Uid: 63002, Gid: 63101}
	// One of a group, and one of none that matters.
	carol = &syscall.Credential{Uid: 63003, Gid: 63103, Groups: []uint32{63104}}
	eve   = &syscall.Credential{Uid: 63004, Gid: 63105, Groups: []uint32{63101}}
)

// as makes a process of these tests that runs as somebody else, where root can.
func as(who *syscall.Credential, role string, args ...string) *exec.Cmd {
	argv := self(role, args...)
	cmd := exec.Command(argv[0], argv[1:]...)
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: who}
	}
	return cmd
}

// ask lets somebody ask an administrator's server. It gives what they were told.
func (w *world) ask(who *syscall.Credential, verb, id string) (answer, refusal string) {
	w.t.Helper()
	cmd := as(who, "as-client", api.Socket(w.state), verb, id)
	var out, problem bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problem
	if err := cmd.Run(); err != nil && problem.Len() == 0 {
		w.t.Fatalf("%s: %v", verb, err)
	}
	return out.String(), strings.TrimSpace(problem.String())
}

func newSharedWorld(t *testing.T) *world {
	w := newWorld(t)
	if err := os.Chmod(filepath.Dir(w.state), 0o755); err != nil {
		t.Fatal(err)
	}
	return w
}

func TestAServerForAllUsersMustBeRoots(t *testing.T) {
	w := newSharedWorld(t)
	cmd := as(ada, "as-server", filepath.Join(w.state, "ada"), w.claims, "1s", "true")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "a server for all users must be root's") {
		t.Errorf("%v, %q", err, out)
	}
}

func TestAnAdministratorsServerRunsEachJobAsItsUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Log("only the refusal can be shown by somebody who is not root: see TestAServerForAllUsersMustBeRoots")
		return
	}
	w := newSharedWorld(t)
	w.spawn("0s", true)
	answer, refusal := w.ask(ada, "submit", idA)
	if refusal != "" {
		t.Fatal(refusal)
	}
	var ref backend.Ref
	if err := json.Unmarshal([]byte(answer), &ref); err != nil {
		t.Fatal(err)
	}
	w.awaitStarts(ref.Dir, 1)
	data, err := os.ReadFile(filepath.Join(ref.Dir, "starts"))
	if err != nil {
		t.Fatal(err)
	}
	if want := " 63001 [63102 63103]\n"; !strings.HasSuffix(string(data), want) {
		t.Errorf("coordinator (pid uid groups) is %q, want %q", data, want)
	}
	_ = filepath.WalkDir(filepath.Dir(filepath.Dir(ref.Dir)), func(path string, d os.DirEntry, _ error) error {
		info, err := os.Lstat(path)
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if st := info.Sys().(*syscall.Stat_t); st.Uid != ada.Uid || info.Mode().Perm()&0o077 != 0 && d.Name() != "starts" {
			t.Errorf("%s: owner %d, mode %v; want ada's alone", path, st.Uid, info.Mode())
		}
		return nil
	})

	const see, act = idA + ": 63002 may not see it: it is 63001's job", idA + ": 63002 may not act on it: it is 63001's job"
	for verb, want := range map[string]string{
		"job": see, "events": see, "stop": act, "signal": act, "slots": idA + ": is 63001's job, not 63002's",
		"submit":   idA + ": another job has this id",
		"shutdown": "63002: only root may end this server",
	} {
		if answer, refusal := w.ask(bob, verb, idA); refusal != want {
			t.Errorf("bob, %s: told %q %q, want %q", verb, answer, refusal, want)
		}
	}
	if answer, _ := w.ask(bob, "jobs", ""); answer != "[]\n" {
		t.Errorf("bob sees %s", answer)
	}
	if j, err := w.client().Job(t.Context(), idA); err != nil || j.User != "63001" {
		t.Errorf("root sees %+v, %v", j, err)
	}
	if answer, refusal := w.ask(ada, "jobs", ""); refusal != "" || !strings.Contains(answer, idA) {
		t.Errorf("ada sees %q %q", answer, refusal)
	}
	if _, refusal := w.ask(ada, "stop", idA); refusal != "" {
		t.Error(refusal)
	}
	if j := w.awaitState(w.client(), idA, "stopped"); j.Outcome.Text != "stopped by 63001" {
		t.Errorf("outcome %+v", j.Outcome)
	}
}

// The lists of a job hold on a server of all users as well: bob is named to see,
// a group of carol's to act, and eve is nobody.
func TestOthersSeeAndActAsTheJobsListsSay(t *testing.T) {
	if os.Getuid() != 0 {
		t.Log("needs root; see TestAServerForAllUsersMustBeRoots")
		return
	}
	w := newSharedWorld(t)
	w.spawn("0s", true)
	answer, refusal := w.ask(ada, "submit-shared", idA)
	if refusal != "" {
		t.Fatal(refusal)
	}
	var ref backend.Ref
	if err := json.Unmarshal([]byte(answer), &ref); err != nil {
		t.Fatal(err)
	}
	w.awaitStarts(ref.Dir, 1)
	eventually(t, "the journal is there", func() bool { _, refusal := w.ask(ada, "events", idA); return refusal == "" })
	see := func(who string) string { return idA + ": " + who + " may not see it: it is 63001's job" }
	act := func(who string) string { return idA + ": " + who + " may not act on it: it is 63001's job" }
	for _, tc := range []struct {
		who  *syscall.Credential
		verb string
		want string // refusal
	}{
		{eve, "job", see("63004")}, {eve, "events", see("63004")}, {eve, "logs", see("63004")}, {eve, "stop", act("63004")}, {eve, "signal", act("63004")},
		{eve, "requeue", act("63004")},
		{bob, "job", ""}, {bob, "events", ""}, {bob, "stop", act("63002")}, {bob, "signal", act("63002")}, {bob, "requeue", act("63002")},
		{bob, "slots", idA + ": is 63001's job, not 63002's"},
		{carol, "job", ""}, {carol, "events", ""}, {carol, "signal", ""}, {carol, "slots", idA + ": is 63001's job, not 63003's"},
	} {
		if answer, refusal := w.ask(tc.who, tc.verb, idA); refusal != tc.want {
			t.Errorf("%d, %s: told %q %q, want %q", tc.who.Uid, tc.verb, answer, refusal, tc.want)
		}
	}
	for who, want := range map[*syscall.Credential]bool{ada: true, bob: true, carol: true, eve: false} {
		if answer, refusal := w.ask(who, "jobs", ""); refusal != "" || strings.Contains(answer, idA) != want {
			t.Errorf("%d sees among the jobs: %q %q", who.Uid, answer, refusal)
		}
	}
	if _, refusal := w.ask(carol, "stop", idA); refusal != "" {
		t.Error(refusal)
	}
	if j := w.awaitState(w.client(), idA, "stopped"); j.Outcome.Text != "stopped by 63003" {
		t.Errorf("outcome %+v", j.Outcome)
	}
}

func TestAnAdministratorsServerComesBackToEachUsersJobs(t *testing.T) {
	if os.Getuid() != 0 {
		t.Log("needs root; see TestAServerForAllUsersMustBeRoots")
		return
	}
	w := newSharedWorld(t)
	first := w.spawn("0s", true)
	answer, refusal := w.ask(ada, "submit", idA)
	if refusal != "" {
		t.Fatal(refusal)
	}
	var ref backend.Ref
	if err := json.Unmarshal([]byte(answer), &ref); err != nil {
		t.Fatal(err)
	}
	pid := w.awaitStarts(ref.Dir, 1)[0]
	first.Process.Kill()
	first.Wait()
	// What stands in ada's own directory does not make her job somebody else's.
	if err := os.Chown(ref.Dir, 0, 0); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(ref.Dir, int(ada.Uid), int(ada.Gid)); err != nil {
		t.Fatal(err)
	}
	syscall.Kill(pid, syscall.SIGKILL)
	w.spawn("0s", true)
	w.awaitStarts(ref.Dir, 2)
	data, err := os.ReadFile(filepath.Join(ref.Dir, "starts"))
	if lines := strings.Split(strings.TrimSpace(string(data)), "\n"); err != nil || len(lines) != 2 || !strings.HasSuffix(lines[1], " 63001 [63102 63103]") {
		t.Errorf("coordinators %q, %v; want the second as ada too", data, err)
	}
}

func TestAnAdministratorsServerSealsAsTheUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Log("needs root; see TestAServerForAllUsersMustBeRoots")
		return
	}
	w := newSharedWorld(t)
	w.serve(func(c *server.Config) {
		c.Shared = true
		c.Seal = func(context.Context, string, string) error { return errors.New("root seals a user's job") }
	})
	answer, refusal := w.ask(ada, "submit-crash", idA)
	if refusal != "" {
		t.Fatal(refusal)
	}
	var ref backend.Ref
	if err := json.Unmarshal([]byte(answer), &ref); err != nil {
		t.Fatal(err)
	}
	j := w.awaitState(w.client(), idA, "failed")
	if !strings.HasPrefix(j.Outcome.Text, "the coordinator ended 3 times in a row") {
		t.Errorf("outcome %+v", j.Outcome)
	}
	segments, _ := filepath.Glob(filepath.Join(ref.Dir, "journal", "*"))
	for _, path := range segments {
		if info, err := os.Stat(path); err != nil || info.Sys().(*syscall.Stat_t).Uid != ada.Uid {
			t.Errorf("%s: not ada's, %v", path, err)
		}
	}
	if len(segments) == 0 {
		t.Error("the journal has no segment")
	}
}

func TestRootNeverFollowsAUsersLinks(t *testing.T) {
	if os.Getuid() != 0 {
		t.Log("needs root; see TestAServerForAllUsersMustBeRoots")
		return
	}
	w := newSharedWorld(t)
	w.spawn("0s", true)
	answer, refusal := w.ask(ada, "submit", idA)
	if refusal != "" {
		t.Fatal(refusal)
	}
	var ref backend.Ref
	if err := json.Unmarshal([]byte(answer), &ref); err != nil {
		t.Fatal(err)
	}
	w.awaitStarts(ref.Dir, 1)
	trap := filepath.Join(filepath.Dir(w.state), "trap")
	if err := os.Mkdir(trap, 0o700); err != nil {
		t.Fatal(err)
	}
	mailbox := filepath.Join(ref.Dir, "mailbox")
	if err := errors.Join(os.Remove(mailbox), os.Symlink(trap, mailbox)); err != nil {
		t.Fatal(err)
	}
	if _, refusal := w.ask(ada, "stop", idA); !strings.Contains(refusal, "cannot be written") {
		t.Errorf("told %q", refusal)
	}
	if names, err := os.ReadDir(trap); err != nil || len(names) != 0 {
		t.Errorf("root wrote %v through a user's link, %v", names, err)
	}
}

func TestTwoUsersServersNeverHandOutTheSameGPU(t *testing.T) {
	dir := shortDir(t)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	claims := filepath.Join(dir, "claims")
	mine := engine(claims)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { mine.Run(ctx) })
	defer running.Wait()
	defer cancel()
	if _, err := mine.Use(ctx); err != nil { // makes the directory, for everybody
		t.Fatal(err)
	}
	holder := as(bob, "as-holder", claims, "3")
	holder.Stderr = os.Stderr
	in, err1 := holder.StdinPipe()
	out, err2 := holder.StdoutPipe()
	if err := errors.Join(err1, err2, holder.Start()); err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer func() { holder.Process.Kill(); holder.Wait() }()
	var theirs local.Answer
	if err := json.NewDecoder(out).Decode(&theirs); err != nil || len(theirs.Granted) != 1 {
		t.Fatalf("bob got %+v, %v", theirs, err)
	}
	use, err := mine.Use(ctx)
	if err != nil || use.Free.GPUs != 1 || len(use.Claims) != 1 {
		t.Fatalf("I see %+v, %v", use, err)
	}
	who := strconv.Itoa(use.Claims[0].UID)
	_, answers := mine.Request(local.Wanted{Job: "m-mine", User: "me", Number: 1, Minimum: 2, Asks: []backend.Ask{
		{Task: plan.TaskID{Role: "w"}, Resources: plan.Resources{GPUs: 1}},
		{Task: plan.TaskID{Role: "w", Index: 1}, Resources: plan.Resources{GPUs: 1}},
	}}, os.Getuid())
	a := <-answers
	if want := []string{"needs 2 GPUs, 1 of 4 free", "held by m-holder of " + who}; !slices.Equal(a.Reasons, want) {
		t.Fatalf("I wait for %q, want %q", a.Reasons, want)
	}
	if err := holder.Process.Kill(); err != nil { // the lock goes with its holder
		t.Fatal(err)
	}
	holder.Wait()
	a = <-answers
	if len(a.Granted) != 2 || !a.Done {
		t.Fatalf("after bob's end I got %+v", a)
	}
	// What bob left behind is his, and in nobody's way.
	use, err = mine.Use(ctx)
	if err != nil || use.Free.GPUs != 2 || len(use.Claims) != 2 {
		t.Errorf("I see %+v, %v", use, err)
	}
	io.Copy(io.Discard, out)
}
