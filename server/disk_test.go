package server_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/muster-project/muster/api"
	"github.com/muster-project/muster/backend"
)

func TestAFullDiskIsToldAndHarmsNoJob(t *testing.T) {
	w := newWorld(t)
	socket := filepath.Join(filepath.Dir(w.state), "s")
	argv := self("as-server", w.state, w.claims, "0s", "false", socket)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if uid, gid := os.Getuid(), os.Getgid(); uid != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: uid, Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: gid, Size: 1}}
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	c := w.clientOf(socket)
	eventually(t, "the server answers", func() bool {
		_, err := c.Hello(t.Context())
		return err == nil
	})
	// Only the server and its children see that disk.
	inside := &world{t: t, state: fmt.Sprintf("/proc/%d/root%s", cmd.Process.Pid, w.state), claims: w.claims}
	t.Cleanup(inside.killAll)
	dir := filepath.Join(inside.state, "jobs", idA)
	w.submit(c, job(idA, "digits", 1, one))
	inside.awaitStarts(dir, 1)

	_, err := c.Submit(t.Context(), backend.Submission{Plan: job(idB, "digits", 1, one), Environ: []string{"BIG=" + strings.Repeat("x", 1<<20)}})
	var e *api.Error
	if !errors.As(err, &e) || e.Code != api.CodeStorage || !strings.Contains(e.Text, "no space left on device") {
		t.Errorf("%v; want that the disk is full", err)
	}
	names, err := os.ReadDir(filepath.Join(inside.state, "jobs"))
	if err != nil || len(names) != 1 {
		t.Errorf("%d directories of jobs, %v; want the first job's alone", len(names), err)
	}
	// What failed is undone, so there is room again, and the first job lives.
	w.submit(c, job(idC, "digits", 1, one))
	if err := c.Stop(t.Context(), idA, api.Stop{}); err != nil {
		t.Fatal(err)
	}
	w.awaitState(c, idA, "stopped")
	if got := len(starts(dir)); got != 1 {
		t.Errorf("%d coordinators, want the first one alone", got)
	}
	if err := c.Stop(t.Context(), idC, api.Stop{}); err != nil {
		t.Fatal(err)
	}
	w.awaitState(c, idC, "stopped")
}
