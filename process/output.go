package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-project/muster/process/capture"
)

// pump carries the processes' output from pipes to files. A pipe that is full
// makes the process wait, so a writer faster than the disk costs no memory.
type pump struct {
	pipes []*os.File
	done  sync.WaitGroup
}

const (
	pipeSize  = 1 << 20 // asked for; an unprivileged user may get less
	readSize  = 256 << 10
	readLeast = 4 << 10 // to begin with: most processes say little
	// drainTime is how long the pump waits for the pipes' ends once the tree is
	// gone: somebody outside the tree may have been handed a pipe.
	drainTime = time.Second
)

// open returns the process's end of a pipe whose other end goes to a file.
func (p *pump) open(path string, spec Spec) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, fmt.Errorf("%s: output cannot be kept: %w", path, cause(err))
	}
	w, err := capture.Create(path, spec.MaxSize, spec.Keep)
	if err != nil {
		return nil, err
	}
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		w.Close()
		return nil, fmt.Errorf("%s: no pipe: %w", path, err)
	}
	_, _ = unix.FcntlInt(uintptr(fds[0]), unix.F_SETPIPE_SZ, pipeSize) // a small one works as well
	// Only our end may be non-blocking: programs do not expect it of theirs.
	if err := unix.SetNonblock(fds[0], true); err != nil {
		w.Close()
		return nil, errors.Join(fmt.Errorf("%s: no pipe: %w", path, err), unix.Close(fds[0]), unix.Close(fds[1]))
	}
	r := os.NewFile(uintptr(fds[0]), path)
	p.pipes = append(p.pipes, r)
	p.done.Go(func() {
		carry(w, r)
		w.Close()
		r.Close()
	})
	return os.NewFile(uintptr(fds[1]), path), nil
}

func carry(w *capture.Writer, r *os.File) {
	buf := make([]byte, readLeast)
	for {
		n, err := r.Read(buf)
		w.Store(buf[:n])
		if n == len(buf) && n < readSize {
			buf = make([]byte, min(4*n, readSize))
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			rest(w, r, buf)
			return
		}
		if err != nil {
			return
		}
	}
}

// rest takes what is in a pipe whose writers will not let go of it.
func rest(w *capture.Writer, r *os.File, buf []byte) {
	raw, err := r.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		for left := pipeSize; left > 0; {
			n, err := unix.Read(int(fd), buf)
			if n <= 0 || err != nil {
				return
			}
			w.Store(buf[:n])
			left -= n
		}
	})
}

// drain waits until all output is in the files.
func (p *pump) drain() {
	for _, r := range p.pipes {
		_ = r.SetReadDeadline(time.Now().Add(drainTime)) // fails for one that is at its end
	}
	p.done.Wait()
}
