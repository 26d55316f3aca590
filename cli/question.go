package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// answer is what a person wants after Ctrl-C.
type answer int

const (
	goOn answer = iota
	detach
	stopJob
)

// ask puts the question of Ctrl-C and reads the answer. The end of ctx (a second
// Ctrl-C) and the end of the input both mean what the caller makes of them: ok
// is false then.
func (e *Env) ask(ctx context.Context, s *screen) (a answer, ok bool) {
	s.pause()
	defer s.resume()
	for {
		fmt.Fprint(e.Stderr, "\nmuster: detach (d), stop the job (s), or go on (Enter)? Ctrl-C again stops it: ")
		line, ok := e.readLine(ctx)
		if !ok {
			fmt.Fprintln(e.Stderr)
			return goOn, false
		}
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "d", "detach":
			return detach, true
		case "s", "stop":
			return stopJob, true
		case "", "c", "continue":
			return goOn, true
		}
		fmt.Fprintf(e.Stderr, "muster: %s: not an answer", printable([]byte(strings.TrimSpace(line))))
	}
}

// readLine reads one line from standard input. It polls, so that it can be left
// when ctx ends: a blocked read of a terminal cannot be taken back.
func (e *Env) readLine(ctx context.Context) (string, bool) {
	file, ok := e.Stdin.(*os.File)
	if !ok {
		return "", false
	}
	var line []byte
	one := make([]byte, 1)
	for {
		fds := []unix.PollFd{{Fd: int32(file.Fd()), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, 100)
		if ctx.Err() != nil {
			return "", false
		}
		if errors.Is(err, unix.EINTR) || err == nil && n == 0 {
			continue
		}
		if err != nil {
			return "", false
		}
		if n, err := file.Read(one); n == 0 || err != nil {
			return "", false
		}
		if one[0] == '\n' || one[0] == '\r' {
			return string(line), true
		}
		line = append(line, one[0])
	}
}
