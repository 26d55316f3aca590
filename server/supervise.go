package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"github.com/muster-project/muster/backend/local"
)

// supervise keeps a coordinator alive for a job until its journal is sealed.
//
//	       lock held             it ends
//	 ┌──▶ adopted ──────────┐
//	look                    ├──▶ sealed? ── yes ─▶ done
//	 └──▶ started ──────────┘       │ no: wait, then look again;
//	       lock free         ◀──────┘ too often: seal, done
//
// It returns early, without touching the coordinator, when the server ends.
func (s *Server) supervise(ctx context.Context, j *job) {
	defer s.engine.Drop(j.id, 0)
	died := 0
	for {
		if done, err := s.ended(ctx, j); done || ctx.Err() != nil {
			return
		} else if err != nil {
			s.Log.Warn("journal cannot be read", "job", j.id, "error", err)
		}
		began := time.Now()
		end := s.attend(ctx, j)
		if ctx.Err() != nil {
			return
		}
		if done, _ := s.ended(ctx, j); done {
			return
		}
		if time.Since(began) > s.Steady {
			died = 0
		}
		died++
		s.Log.Warn("coordinator ended before its job", "job", j.id, "how", end, "times", died)
		if died >= s.Attempts {
			s.giveUp(ctx, j, fmt.Sprintf("the coordinator ended %d times in a row, last with: %v", died, end))
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(s.Backoff(died)):
		}
	}
}

// ended looks whether the job's journal has ended and remembers its last word.
func (s *Server) ended(ctx context.Context, j *job) (bool, error) {
	s.mu.Lock()
	known := j.sealed != nil
	s.mu.Unlock()
	if known {
		return true, nil
	}
	v, err := s.view(ctx, j)
	if err != nil || v.Ended.IsZero() {
		return false, err
	}
	s.mu.Lock()
	j.sealed = &v
	s.mu.Unlock()
	s.touched()
	return true, nil
}

// giveUp ends a job whose coordinator cannot live: what it started is ended by
// the lease, and the journal says what happened.
func (s *Server) giveUp(ctx context.Context, j *job, reason string) {
	s.Log.Error("job is given up", "job", j.id, "reason", reason)
	err := s.sealAs(ctx, j, reason)
	if err == nil {
		_, err = s.ended(ctx, j)
	}
	if err != nil {
		s.Log.Error("job cannot be sealed", "job", j.id, "error", err)
	}
	s.mu.Lock()
	j.abandoned = true
	s.mu.Unlock()
	s.touched()
}

// sealAs seals with the rights of the job's owner: root writes nothing below a
// directory that a user can rearrange.
func (s *Server) sealAs(ctx context.Context, j *job, reason string) error {
	if !s.Shared || j.owner.UID == s.self.UID {
		return s.Config.Seal(ctx, j.dir(), reason)
	}
	cmd, err := s.command(j, "--seal", reason)
	if err != nil {
		return err
	}
	defer cmd.Stderr.(*os.File).Close()
	return cmd.Run()
}

// attend starts a coordinator, or finds the one that lives, and waits for its
// end. The error says how it ended.
func (s *Server) attend(ctx context.Context, j *job) error {
	if end := s.adopt(ctx, j); end != nil {
		return end
	}
	cmd, err := s.command(j)
	if err != nil {
		return err
	}
	err = cmd.Start()
	cmd.Stderr.(*os.File).Close()
	if err != nil {
		return fmt.Errorf("cannot be started: %w", err)
	}
	s.Log.Info("coordinator started", "job", j.id, "pid", cmd.Process.Pid)
	p, err := local.Watch(cmd.Process.Pid)
	if err == nil {
		defer p.Close()
		err = p.Wait(ctx)
	}
	if ctx.Err() != nil {
		return errors.Join(ctx.Err(), cmd.Process.Release())
	}
	if err != nil {
		s.Log.Debug("coordinator is waited for without a descriptor", "job", j.id, "error", err)
	}
	return describe(cmd.Wait())
}

func describe(err error) error {
	if err == nil {
		return errors.New("exit status 0")
	}
	return err
}

// living are the jobs that have a coordinator at this moment, which may come
// back to what it waited for.
func living(jobs []*job) []string {
	var ids []string
	for _, j := range jobs {
		f, err := j.home.root.OpenFile(j.rel(local.LockFile), os.O_RDONLY|openNonblock, 0)
		if err != nil {
			continue // never had one
		}
		if _, held, err := local.Holder(f); err == nil && held {
			ids = append(ids, j.id)
		}
		f.Close()
	}
	return ids
}

// adopt waits for the end of a living coordinator, found by the lock that it
// holds. It returns nil if there is none, else how its end was noticed.
func (s *Server) adopt(ctx context.Context, j *job) error {
	f, err := j.home.root.OpenFile(j.rel(local.LockFile), os.O_RDONLY|openNonblock, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	tick := time.NewTicker(adoptTick)
	defer tick.Stop()
	for found := false; ; found = true {
		pid, held, err := local.Holder(f)
		switch {
		case err != nil:
			return err
		case !held && !found:
			return nil
		case !held:
			return errAdopted
		case !found:
			s.Log.Info("coordinator found", "job", j.id, "pid", pid)
		}
		// The number in the file only makes us quick: the lock is what counts.
		if p, err := local.Watch(pid); err == nil {
			p.Wait(ctx)
			p.Close()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

const adoptTick = 50 * time.Millisecond

// errAdopted is all that can be said of the end of somebody else's child.
var errAdopted = errors.New("an end that nobody saw")

// command is a coordinator for a job, as the job's owner, in a session of its
// own so that it outlives us.
func (s *Server) command(j *job, more ...string) (*exec.Cmd, error) {
	log, err := j.home.open(j.rel("coordinator.log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND|openNonblock, 0o600)
	if err != nil {
		return nil, unwritable(j.dir(), err)
	}
	cmd := s.ownersProcess(context.Background(), j, append(append(slices.Clone(s.Coordinator), "--job", j.dir()), more...))
	cmd.Stdout, cmd.Stderr = log, log
	return cmd, nil
}

// ownersProcess is a process in a job's directory, with the rights of the job's owner.
func (s *Server) ownersProcess(ctx context.Context, j *job, argv []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = j.dir()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if s.Shared && j.owner.UID != s.self.UID {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(j.owner.UID), Gid: uint32(j.owner.GID), Groups: j.owner.Groups}
		// The job's own environment is in its submission; this is what a login gives.
		cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + j.owner.Home,
			"USER=" + j.owner.Name, "LOGNAME=" + j.owner.Name}
	}
	return cmd
}
