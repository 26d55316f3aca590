package frugal

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Drop lets go of the program's own code and constants, which come back from the
// page cache as they are needed. Starting takes more of them than all the rest of
// a life, and managers of containers count them like any other memory. Where
// that does not work nothing is lost.
func Drop() { _ = drop() }

// Settle drops now and then for a minute after the start, or until ctx is done:
// each part of a start needs other code.
func Settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	for wait := settleFirst; ; wait = min(2*wait, settleMost) {
		t := time.NewTimer(wait)
		select {
		case <-t.C:
			Drop()
		case <-ctx.Done():
			t.Stop()
			return
		}
	}
}

const (
	settleFirst = 250 * time.Millisecond
	settleMost  = 4 * time.Second
	settleTime  = time.Minute
)

func drop() error {
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return err
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return err
	}
	for line := range bytes.Lines(maps) {
		from, to, ok := constant(line, self)
		if !ok {
			continue
		}
		if _, _, e := unix.Syscall(unix.SYS_MADVISE, from, to-from, unix.MADV_DONTNEED); e != 0 {
			return fmt.Errorf("madvise: %w", e)
		}
	}
	return nil
}

// constant gives the range of a line of /proc/PID/maps if it is of this program
// and cannot be written: what was written could not come back.
//
//	00400000-008c1000 r-xp 00000000 08:01 1234   /path of the program
func constant(line []byte, program string) (from, to uintptr, ok bool) {
	rest, ok := bytes.CutSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte(" "+program))
	words := bytes.Fields(rest)
	if !ok || len(words) != 5 || len(words[1]) != 4 || words[1][0] != 'r' || words[1][1] != '-' {
		return 0, 0, false
	}
	first, last, _ := bytes.Cut(words[0], []byte("-"))
	a, err1 := strconv.ParseUint(string(first), 16, 64)
	b, err2 := strconv.ParseUint(string(last), 16, 64)
	return uintptr(a), uintptr(b), err1 == nil && err2 == nil && a < b
}
