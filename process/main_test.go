package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// This binary plays every part in the tests: the guardian, an executor that is
// to be killed, and programs that a shell cannot write.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if part := parts()[os.Args[1]]; part != nil {
			os.Exit(part())
		}
	}
	if err := Subreaper(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// parts are the programs by their first argument.
func parts() map[string]func() int {
	return map[string]func() int{
		"guardian":  func() int { return Guard(os.Stdin, os.Stdout) },
		"powerless": powerless,
		"executor":  executor,
		"full-disk": fullDisk,
		"hog":       hog,
		"long-line": longLine,
		"saver":     saver,
	}
}

func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// task is a specification of shell commands, one process each.
func task(t *testing.T, scripts ...string) Spec {
	t.Helper()
	s := Spec{Guardian: []string{self(t), "guardian"}, Umask: 0o022}
	s.Limits.Watch = true
	dir := t.TempDir()
	for i, script := range scripts {
		s.Procs = append(s.Procs, Proc{
			Argv:   []string{"bash", "-c", script},
			Env:    []string{"PATH=" + standardPath, "BINARY=" + self(t)},
			Dir:    dir,
			Stdout: filepath.Join(dir, "logs", fmt.Sprintf("%d.out", i)),
			Stderr: filepath.Join(dir, "logs", fmt.Sprintf("%d.err", i)),
		})
	}
	return s
}

// begin starts a tree and sees to it that it is gone at the test's end.
func begin(t *testing.T, s Spec) *Tree {
	t.Helper()
	tree, err := Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		tree.Stop(0, 0, true)
		<-tree.Done()
	})
	return tree
}

// result waits for a tree's end, and not for ever.
func result(t *testing.T, tree *Tree) Result {
	t.Helper()
	select {
	case <-tree.Done():
	case <-time.After(30 * time.Second):
		t.Fatal("the tree does not end")
	}
	return tree.Result()
}

func run(t *testing.T, s Spec) Result {
	t.Helper()
	return result(t, begin(t, s))
}

func content(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// eventually waits until ok holds.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(20 * time.Second)
	for !ok() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("not seen in time: %s", what)
		}
	}
}

// printed waits until a process has printed a word.
func printed(t *testing.T, path, word string) {
	t.Helper()
	eventually(t, word+" in "+filepath.Base(path), func() bool {
		text, _ := os.ReadFile(path)
		return strings.Contains(string(text), word)
	})
}

// pidIn waits for a file with a pid.
func pidIn(t *testing.T, path string) int {
	t.Helper()
	var pid int
	eventually(t, "pid in "+path, func() bool {
		text, err := os.ReadFile(path)
		if err != nil {
			return false
		}
		n, _ := fmt.Sscanf(string(text), "%d\n", &pid)
		return n == 1 && strings.HasSuffix(string(text), "\n")
	})
	return pid
}

func lives(pid int) bool {
	e, ok := look(pid, make([]byte, 1024))
	return ok && !e.zombie
}
