package executor

import (
	"context"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-project/muster/process"
	"github.com/muster-project/muster/wire"
)

const (
	// hangGrace is between the signal and the kill of a command whose caller has gone.
	hangGrace = 5 * time.Second
	// drainTime is how long output is waited for when the command has ended, but
	// something that it has started still holds its pipes.
	drainTime = time.Second
)

// attached runs a command in the task's tree with a caller at its files. When
// the caller goes, also by being killed, the command and what it has started are
// ended; when the task ends, they are too.
func (e *executor) attached(ctx context.Context, s *wire.Stream, c wire.Call, a answered) {
	p, err := newPipes()
	if err != nil {
		s.Refuse(err.Error())
		return
	}
	x, err := a.tree.Exec(process.Proc{Argv: c.Argv, Env: overlay(a.scene.env, c.Env), Dir: a.scene.work}, p.theirs)
	p.hand()
	if err != nil {
		p.close()
		s.Refuse(err.Error())
		return
	}
	e.log.Debug("attached", "pid", x.PID(), "argv", c.Argv)
	var hearing, saying sync.WaitGroup
	defer hearing.Wait()
	gone := make(chan struct{})
	hearing.Go(func() {
		defer close(gone)
		hear(s, x, p.in)
	})
	saying.Go(func() { say(s, p.out, func(b []byte) wire.Flow { return wire.Flow{Stdout: b} }) })
	saying.Go(func() { say(s, p.err, func(b []byte) wire.Flow { return wire.Flow{Stderr: b} }) })
	select {
	case <-x.Done():
	case <-gone:
		hangUp(x)
	}
	exit := attachedExit(x.Exit())
	late := time.Now().Add(drainTime)
	_ = p.out.SetReadDeadline(late)
	_ = p.err.SetReadDeadline(late)
	saying.Wait()
	p.close()
	select {
	case <-gone:
		s.Abort()
	default:
		_ = s.Finish(wire.Flow{Exit: &exit})
	}
}

// hangUp ends a command whose caller has gone, and what it has started.
func hangUp(x *process.Exec) {
	_ = x.Kill(syscall.SIGTERM) // an error says that the task has ended
	grace := time.NewTimer(hangGrace)
	defer grace.Stop()
	select {
	case <-x.Done():
	case <-grace.C:
	}
	_ = x.Kill(syscall.SIGKILL)
	<-x.Done()
}

// hear takes what the caller sends until he goes.
func hear(s *wire.Stream, x *process.Exec, in *os.File) {
	chunks := make(chan []byte, wire.Window)
	var feeding sync.WaitGroup
	feeding.Go(func() { feed(s, chunks, in) })
	defer feeding.Wait()
	open := true
	defer func() {
		if open {
			_ = in.SetWriteDeadline(time.Unix(1, 0)) // of what is in the middle
			close(chunks)
		}
	}()
	for {
		f, err := s.Recv()
		if err != nil {
			return
		}
		if len(f.Stdin) > 0 && open {
			select {
			case chunks <- f.Stdin:
			default:
				return // more than the window: he does not keep to the protocol
			}
		}
		if f.StdinEnd && open {
			open = false
			close(chunks)
		}
		if n := signalNumber(f.Signal); f.Signal != "" && n != 0 {
			_ = x.Signal(n) // a command that has ended needs none
		}
	}
}

// feed gives the command its input. One that has closed it is no error: the rest
// is thrown away, as a shell does.
func feed(s *wire.Stream, chunks <-chan []byte, in *os.File) {
	var broken error
	for chunk := range chunks {
		if broken == nil {
			_, broken = in.Write(chunk)
		}
		if s.Send(wire.Flow{Taken: 1}) != nil {
			broken = os.ErrClosed
		}
	}
	_ = in.Close()
}

// say sends one of the command's outputs until its end. When the caller has gone
// it is read all the same, so that the command can end in its own way.
func say(s *wire.Stream, out *os.File, flow func([]byte) wire.Flow) {
	buf := make([]byte, wire.Chunk)
	var gone error
	for {
		n, err := out.Read(buf)
		if n > 0 && gone == nil {
			gone = s.Send(flow(buf[:n]))
		}
		if err != nil {
			return
		}
	}
}

// pipes are the standard files of an attached command: the command's ends, which
// block as programs expect it, and ours, which do not.
type pipes struct {
	theirs       [3]*os.File
	in, out, err *os.File
}

func newPipes() (*pipes, error) {
	p := &pipes{}
	for i, ours := range []**os.File{&p.in, &p.out, &p.err} {
		var fds [2]int
		err := unix.Pipe2(fds[:], unix.O_CLOEXEC)
		if err != nil {
			p.hand()
			p.close()
			return nil, fmt.Errorf("no pipe: %w", err)
		}
		mine, other := fds[0], fds[1]
		if i == 0 {
			mine, other = other, mine
		}
		_ = unix.SetNonblock(mine, true) // cannot fail on a pipe
		*ours, p.theirs[i] = os.NewFile(uintptr(mine), "attached"), os.NewFile(uintptr(other), "attached")
	}
	return p, nil
}

// hand closes the command's ends: it has them, or never will.
func (p *pipes) hand() {
	for _, f := range p.theirs {
		if f != nil {
			_ = f.Close()
		}
	}
}

func (p *pipes) close() {
	for _, f := range []*os.File{p.in, p.out, p.err} {
		if f != nil {
			_ = f.Close()
		}
	}
}
