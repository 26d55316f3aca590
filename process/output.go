package process

import (
	"errors"
	"fmt"
	"io"
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
	pipeSize = 1 << 20 // asked for; an unprivileged user may get less
	readSize = 256 << 10
	// drainTime is how long the pump waits for the pipes' ends once the tree is
	// gone: somebody outside the tree may have been handed a pipe.
	drainTime = time.Second
)

// open returns the process's end of a pipe whose other end goes to a file.
func (p *pump) open(path string, spec Spec) (int, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return 0, fmt.Errorf("%s: output cannot be kept: %w", path, cause(err))
	}
	w, err := capture.Create(path, spec.MaxSize, spec.Keep)
	if err != nil {
		return 0, err
	}
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return 0, errors.Join(fmt.Errorf("%s: no pipe: %w", path, err), w.Close())
	}
	unix.FcntlInt(uintptr(fds[0]), unix.F_SETPIPE_SZ, pipeSize)
	// Only our end may be non-blocking: programs do not expect it of theirs.
	unix.SetNonblock(fds[0], true)
	r := os.NewFile(uintptr(fds[0]), path)
	p.pipes = append(p.pipes, r)
	p.done.Go(func() {
		carry(w, r)
		w.Close()
		r.Close()
	})
	return fds[1], nil
}

func carry(w io.Writer, r *os.File) {
	buf := make([]byte, readSize)
	for {
		n, err := r.Read(buf)
		w.Write(buf[:n]) // never fails: what cannot be stored is counted
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
func rest(w io.Writer, r *os.File, buf []byte) {
	raw, err := r.SyscallConn()
	if err != nil {
		return
	}
	raw.Control(func(fd uintptr) {
		for left := pipeSize; left > 0; {
			n, err := unix.Read(int(fd), buf)
			if n <= 0 || err != nil {
				return
			}
			w.Write(buf[:n])
			left -= n
		}
	})
}

// drain waits until all output is in the files.
func (p *pump) drain() {
	for _, r := range p.pipes {
		r.SetReadDeadline(time.Now().Add(drainTime))
	}
	p.done.Wait()
}
