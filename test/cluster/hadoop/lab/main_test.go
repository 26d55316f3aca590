package lab

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

	"go.uber.org/goleak"
)

// This binary is the keeper too, and a program that brings a cluster up and dies.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "keep" {
		owner, err := strconv.Atoi(os.Args[3])
		if err == nil {
			err = Keep(context.Background(), os.Args[2], owner, os.Stderr)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// script stands for Java: a daemon that takes a moment to end in order, and has
// one container if it is a NodeManager. Whether the real daemons start and find
// each other is seen with every run of "make test".
const script = `#!/bin/sh
case "$*" in
*server.nodemanager*) setsid sleep 600 & ;;
esac
trap 'echo in order; exit 3' TERM
echo up
while :; do sleep 0.05; done
`

// stage is a cluster whose daemons are scripts, with a running keeper.
func stage(t *testing.T, owner int) *Cluster { return stageMode(t, "capacity", owner) }

func stageMode(t *testing.T, mode string, owner int) *Cluster {
	t.Helper()
	dir, err := os.MkdirTemp("", "lab") // t.TempDir's names are too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	jars, java := filepath.Join(dir, "jars"), filepath.Join(dir, "java")
	for path, data := range map[string]string{
		filepath.Join(jars, "a.jar"):       "",
		filepath.Join(java, "bin", "java"): script,
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(data), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	c := &Cluster{Dir: filepath.Join(dir, "c"), Mode: mode, Version: Versions[0], Jars: jars, Java: java, Env: harmless(os.Environ())}
	ctx := t.Context()
	if err := c.clear(ctx); err != nil {
		t.Fatal(err)
	}
	base, held, err := claim(0)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	c.Base = base
	file, err := handOver(held)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := c.save(); err != nil {
		t.Fatal(err)
	}
	keeper := exec.Command(os.Args[0], "keep", c.Dir, strconv.Itoa(owner))
	var said strings.Builder
	keeper.Stderr, keeper.ExtraFiles = &said, []*os.File{file}
	if err := keeper.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Down(context.Background()); err != nil {
			t.Error(err)
		}
		_ = keeper.Wait() // some tests kill it
		if t.Failed() {
			t.Logf("keeper: %s", &said)
		}
	})
	eventually(t, "the keeper takes requests", func() bool { _, err := c.Daemons(ctx); return err == nil })
	return c
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	late := time.After(20 * time.Second)
	for !holds() {
		select {
		case <-again.C:
		case <-late:
			t.Fatalf("%s: not within 20 s", what)
		}
	}
}

// pid of a daemon, 0 if it does not run.
func (c *Cluster) pid(t *testing.T, name string) int {
	t.Helper()
	all, err := c.Daemons(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range all {
		if d.Name == name {
			return d.PID
		}
	}
	t.Fatalf("%s: not listed", name)
	return 0
}

// start starts daemons and waits until the scripts have done their work.
func (c *Cluster) started(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := c.Start(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range names {
		eventually(t, name+" is up", func() bool {
			data, _ := os.ReadFile(c.path("logs", name+".log"))
			return strings.Contains(string(data), "up\n")
		})
	}
}

// containers that a NodeManager has started and that still run.
func (c *Cluster) containers(node string) int {
	n := 0
	for _, pid := range c.marked(node) {
		if data, _ := os.ReadFile(procFile(pid, "cmdline")); strings.HasPrefix(string(data), "sleep\x00600") {
			n++
		}
	}
	return n
}

func killed(pid int) bool { return syscall.Kill(pid, 0) != nil }
