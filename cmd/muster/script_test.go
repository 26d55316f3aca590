package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite what scripts compare with")

// TestMain makes the real main a command of the scripts. It starts itself by
// /proc/self/exe, so that is one of its names.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"muster": main, "exe": main})
}

// TestScript runs test/script: each sentence that muster says to people, in the
// story in which it says it.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           filepath.Join("..", "..", "test", "script"),
		UpdateScripts: *update,
		Setup:         setup,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits,
			"until": until,
			"norm":  norm,
			"crlf":  crlf,
			"bom":   bom,
		},
	})
}

// setup gives each script a state directory and claims of its own, and looks at
// its end that nothing of it runs on.
func setup(env *testscript.Env) error {
	home := filepath.Join(env.WorkDir, ".muster")
	env.Setenv("MUSTER_HOME", home)
	env.Setenv("MUSTER_SITE", "")
	env.Setenv("MUSTER_CLAIMS", filepath.Join(env.WorkDir, ".claims"))
	env.Setenv("HOME", env.WorkDir)
	env.Setenv("LC_ALL", "C") // F-106: our own locale must not matter
	env.Setenv("COLUMNS", "120")
	if err := os.Mkdir(filepath.Join(env.WorkDir, ".claims"), 0o777); err != nil {
		return err
	}
	vars := append([]string(nil), env.Vars...)
	env.Values[varsKey{}] = vars
	env.Defer(func() {
		stop := exec.Command("muster", "serve", "--stop")
		stop.Env = vars
		if out, err := stop.CombinedOutput(); err != nil {
			env.T().Log(fmt.Sprintf("serve --stop: %v: %s", err, out))
		}
		if left := waitGone(home); len(left) > 0 {
			for _, p := range left {
				syscall.Kill(p.pid, syscall.SIGKILL)
			}
			env.T().Fatal(fmt.Sprintf("processes are left: %v", left))
		}
	})
	return nil
}

// varsKey finds the environment of a script.
type varsKey struct{}

// running is a process that belongs to a script.
type running struct {
	pid  int
	line string
}

// waitGone waits until no process has the script's state directory in its
// environment or command line, and gives those that do not end.
func waitGone(home string) []running {
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		left := find(home)
		if len(left) == 0 {
			return nil
		}
		select {
		case <-deadline.C:
			return left
		case <-tick.C:
		}
	}
}

func find(home string) []running {
	var found []running
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		environ, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		line, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		text := strings.ReplaceAll(string(line), "\x00", " ")
		if strings.Contains(string(environ), home) || strings.Contains(text, home) {
			if state := stateOf(pid); state == "Z" {
				text += " (zombie)"
			}
			found = append(found, running{pid, text})
		}
	}
	return found
}

func stateOf(pid int) string {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if i := strings.LastIndexByte(string(data), ')'); i >= 0 && len(data) > i+2 {
		return string(data[i+2])
	}
	return ""
}

// exits N COMMAND… runs a command and wants exactly that exit status.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS COMMAND…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
		if ws := exit.Sys().(syscall.WaitStatus); ws.Signaled() {
			got = 128 + int(ws.Signal())
		}
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// until PATTERN COMMAND… repeats a command until its standard output matches.
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until PATTERN COMMAND…")
	}
	pattern := regexp.MustCompile("(?m)" + args[0])
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		// Not by ts.Exec, which would log every attempt. Its status does not
		// matter, only what it says.
		cmd := exec.Command(args[1], args[2:]...)
		cmd.Dir, cmd.Env = ts.MkAbs("."), ts.Value(varsKey{}).([]string)
		said, _ := cmd.Output()
		if pattern.Match(said) {
			return
		}
		select {
		case <-deadline.C:
			ts.Fatalf("no match of %q within 30 s; last it said:\n%s", args[0], said)
		case <-tick.C:
		}
	}
}

// norm FROM TO writes a file in which what differs between runs is replaced.
func norm(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: norm FROM TO")
	}
	text := ts.ReadFile(args[0])
	text = strings.ReplaceAll(text, ts.Getenv("WORK"), "$WORK")
	for _, r := range replacements {
		text = r.from.ReplaceAllString(text, r.to)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text), 0o666))
}

var (
	host, _ = os.Hostname()
	me      = func() string {
		u, err := user.Current()
		if err != nil {
			return "nobody at all"
		}
		return regexp.QuoteMeta(u.Username)
	}()
)

var replacements = []struct {
	from *regexp.Regexp
	to   string
}{
	{regexp.MustCompile(`m-[a-z2-7]{10}`), "m-IDIDIDIDID"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`), "TIME"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?`), "DATE TIME"},
	{regexp.MustCompile(`\b` + regexp.QuoteMeta(host) + `\b`), "HOST"},
	{regexp.MustCompile(`\b\d+(ms|s|m\d\ds)\b`), "SPAN"},
	{regexp.MustCompile(`("elapsed_seconds": )[0-9.]+`), "${1}SECONDS"},
	{regexp.MustCompile(`(elapsed_seconds: )[0-9.]+`), "${1}SECONDS"},
	{regexp.MustCompile(`(pids? )[0-9 ]*[0-9]`), "${1}PID"},
	{regexp.MustCompile(`("pids": \[\s*|pids:\s*- )\d+`), "${1}PID"},
	{regexp.MustCompile(`("?main"?[=:] ?)\d+`), "${1}PORT"},
	{regexp.MustCompile(`("?seq"?: )\d+`), "${1}SEQ"},
	{regexp.MustCompile(`\b` + me + `\b`), "USER"},
	{regexp.MustCompile(`(\S)  +`), "$1  "}, // columns are as wide as what was replaced
}

// crlf FILE… turns line feeds into what Windows writes.
func crlf(ts *testscript.TestScript, neg bool, args []string) {
	for _, name := range args {
		text := strings.ReplaceAll(ts.ReadFile(name), "\n", "\r\n")
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o666))
	}
}

// bom FILE… puts a byte-order mark in front.
func bom(ts *testscript.TestScript, neg bool, args []string) {
	for _, name := range args {
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte("\ufeff"+ts.ReadFile(name)), 0o666))
	}
}
