package kdc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// server is a KDC that this process runs.
type server struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed when it has been waited for
}

// Command returns the program and arguments that run the server in the
// foreground, for whoever looks after processes; it wants Environ.
func (k *KDC) Command() ([]string, error) {
	path, err := find("krb5kdc")
	return []string{path, "-n", "-r", Realm}, err
}

// Start runs the server, which ends with this process at the latest, and returns
// when it answers.
func (k *KDC) Start(ctx context.Context) error {
	if k.server != nil {
		return errors.New("kdc: runs already")
	}
	args, err := k.Command()
	if err != nil {
		return err
	}
	if err := unused(k.Port); err != nil {
		return err
	}
	log, err := os.OpenFile(k.path("server.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = k.Environ(), k.Dir, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	s := &server{cmd: cmd, ended: make(chan struct{})}
	started := make(chan error, 1)
	go s.run(started)
	if err := <-started; err != nil {
		return fmt.Errorf("kdc: %w", err)
	}
	k.server = s
	if err := k.answers(ctx); err != nil {
		return errors.Join(err, k.Stop())
	}
	return nil
}

// run is owned by the server: Stop waits for ended. The thread that has started a
// child must live as long as it: the kernel sends the death signal at its end.
func (s *server) run(started chan<- error) {
	runtime.LockOSThread() // never unlocked, so that nothing else ends it
	err := s.cmd.Start()
	started <- err
	if err == nil {
		_ = s.cmd.Wait() // it is killed at the end
	}
	close(s.ended)
}

// Stop ends the server. One that does not run is no error.
func (k *KDC) Stop() error {
	s := k.server
	if s == nil {
		return nil
	}
	k.server = nil
	err := s.cmd.Process.Kill() // its database is written by kadmin.local alone
	<-s.ended
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

func (k *KDC) answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		err := k.Ready(ctx)
		select { // who answers may be somebody else
		case <-k.server.ended:
			log, _ := os.ReadFile(k.path("server.log"))
			return fmt.Errorf("kdc: has ended: %s\n%s", k.server.cmd.ProcessState, log)
		default:
		}
		if err == nil {
			return nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return fmt.Errorf("%w; last: %w", ctx.Err(), err)
		}
	}
}

// Ready says whether a server takes connections.
func (k *KDC) Ready(ctx context.Context) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(k.Port)))
	if err != nil {
		return fmt.Errorf("kdc: %w", err)
	}
	return conn.Close()
}
