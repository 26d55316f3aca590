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

// lock opens and locks a file. While somebody else holds it, wait is called once
// with what the holder wrote into it.
func lock(ctx context.Context, path string, how int, wait func(holder string)) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%s: cannot be locked: %w", path, cause(err))
	}
	tick := time.NewTicker(again)
	defer tick.Stop()
	for told := false; ; {
		err := flock(f, how)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, errors.Join(fmt.Errorf("%s: cannot be locked: %w", path, err), f.Close())
		}
		if wait == nil {
			return nil, errors.Join(err, f.Close())
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
