package python

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// again is how often a lock that somebody else holds is tried: a blocked flock
// cannot be cancelled.
const again = 200 * time.Millisecond

// claim locks a file exclusively, for who makes what it stands for; nil: that is
// there, as ready says, which is asked under the shared lock that its users hold.
// While somebody else makes it, wait is called once with who that is.
func claim(ctx context.Context, path string, ready func() bool, wait func(holder string)) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%s: cannot be locked: %w", path, cause(err))
	}
	tick := time.NewTicker(again)
	defer tick.Stop()
	for told := false; ; {
		err := flock(f, unix.LOCK_SH)
		if err == nil && ready() {
			return nil, f.Close()
		}
		if err == nil {
			err = flock(f, unix.LOCK_EX)
		}
		if err == nil && ready() { // made between both locks
			return nil, f.Close()
		}
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, errors.Join(fmt.Errorf("%s: cannot be locked: %w", path, err), f.Close())
		}
		// Not every file system lets go of the shared lock when it refuses the other,
		// and two who keep theirs would wait for each other.
		if err := flock(f, unix.LOCK_UN); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: cannot be unlocked: %w", path, err), f.Close())
		}
		if !told {
			told = true
			wait(holder(f))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), f.Close())
		}
	}
}

// flock never blocks.
func flock(f *os.File, how int) error {
	for {
		if err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// sign writes into a lock who holds it.
func sign(f *os.File, what string) error {
	_, err := f.WriteAt([]byte(what), 0)
	return errors.Join(f.Truncate(int64(len(what))), err)
}

func holder(f *os.File) string {
	text, err := io.ReadAll(io.NewSectionReader(f, 0, 200))
	if err != nil || len(text) == 0 {
		return "another process"
	}
	return string(text)
}
