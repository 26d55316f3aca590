package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/muster-project/muster/api"
)

// Names in a job's directory.
const (
	// LockFile is locked by the living coordinator, whose pid stands in it.
	LockFile = "coordinator.lock"
	// LinkFile says where the server is.
	LinkFile = "server.json"
)

// Link is how a job's coordinator finds its server.
type Link struct {
	Socket string   `json:"socket"`
	State  string   `json:"state"`
	Shared bool     `json:"shared,omitempty"`
	Serve  []string `json:"serve,omitempty"` // starts it again; empty: only wait for it
}

// ReadLink reads the link of a job.
func ReadLink(dir string) (Link, error) {
	var l Link
	data, err := os.ReadFile(filepath.Join(dir, LinkFile))
	if err == nil {
		err = json.Unmarshal(data, &l)
	}
	if err != nil {
		return l, fmt.Errorf("%s: the job's server cannot be found: %w", filepath.Join(dir, LinkFile), err)
	}
	return l, nil
}

// Client talks to the job's server, and starts it where that is ours to do.
func (l Link) Client() *api.Client {
	if len(l.Serve) == 0 {
		return api.NewClient(l.Socket, nil)
	}
	starter := &api.Starter{Socket: l.Socket, State: l.State, Argv: l.Serve}
	return api.NewClient(l.Socket, starter.Ensure)
}

// LockCoordinator takes a job for this process until the file is closed or the
// process ends. It waits a little: whoever looks whether the lock is held holds
// it for a moment itself.
func LockCoordinator(ctx context.Context, dir string) (*os.File, error) {
	f, err := LockFileFor(ctx, filepath.Join(dir, LockFile))
	if err != nil {
		return nil, fmt.Errorf("another coordinator may have the job: %w", err)
	}
	return f, nil
}

func writeAt(f *os.File, s string) error {
	_, err := f.WriteAt([]byte(s), 0)
	return err
}

// Holder says which process holds an open lock file, if any does.
func Holder(f *os.File) (pid int, alive bool, err error) {
	err = flock(f, unix.LOCK_SH|unix.LOCK_NB)
	if err == nil {
		return 0, false, flock(f, unix.LOCK_UN)
	}
	if !errors.Is(err, unix.EWOULDBLOCK) {
		return 0, false, err
	}
	return readPID(f), true, nil
}

// Alive says whether a job's coordinator lives.
func Alive(dir string) (bool, error) {
	f, err := os.Open(filepath.Join(dir, LockFile))
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	_, alive, err := Holder(f)
	return alive, err
}

func readPID(f *os.File) int {
	data, _ := io.ReadAll(io.LimitReader(io.NewSectionReader(f, 0, 32), 32))
	pid, _ := strconv.Atoi(strings.TrimSpace(string(data)))
	return pid
}

// LockFileFor makes a lock file and holds it until the file is closed. It waits
// a little for a holder that is just ending.
func LockFileFor(ctx context.Context, path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%s: cannot be locked: %w", path, err)
	}
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	if err := flockWait(ctx, f, unix.LOCK_EX); err != nil {
		pid := readPID(f)
		f.Close()
		return nil, fmt.Errorf("%s: is held by process %d: %w", path, pid, err)
	}
	if err := errors.Join(f.Truncate(0), writeAt(f, strconv.Itoa(os.Getpid())+"\n")); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: cannot be written: %w", path, err)
	}
	return f, nil
}
