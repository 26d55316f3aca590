package frugal

import (
	"bytes"
	"context"
	"os"
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

func TestConstant(t *testing.T) {
	const program = "/a path/executor (deleted)"
	for _, c := range []struct {
		line     string
		from, to uintptr
		ok       bool
	}{
		{"00400000-008c1000 r-xp 00000000 08:01 1234                   " + program + "\n", 0x400000, 0x8c1000, true},
		{"008c1000-00dba000 r--p 004c1000 08:01 1234                   " + program, 0x8c1000, 0xdba000, true},
		{"00dba000-00e01000 rw-p 009ba000 08:01 1234                   " + program + "\n", 0, 0, false},
		{"00dba000-00e01000 ---p 009ba000 08:01 1234                   " + program + "\n", 0, 0, false},
		{"7f00000000-7f00001000 r-xp 00000000 08:01 1234               /lib/libc.so\n", 0, 0, false},
		{"7f00000000-7f00001000 r--p 00000000 08:01 1234               /other/" + program[1:] + "\n", 0, 0, false},
		{"7f00000000-7f00001000 r-xp 00000000 00:00 0                  [vdso]\n", 0, 0, false},
		{"zz-7f00001000 r-xp 00000000 08:01 1234 " + program + "\n", 0, 0, false},
		{"\n", 0, 0, false},
	} {
		from, to, ok := constant([]byte(c.line), program)
		if ok != c.ok || ok && (from != c.from || to != c.to) {
			t.Errorf("%q: %x-%x %v, want %x-%x %v", c.line, from, to, ok, c.from, c.to, c.ok)
		}
	}
}

// resident is the memory of this process that is a file's, in KiB.
func resident(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := bytes.Cut(text, []byte("RssFile:"))
	words := bytes.Fields(rest)
	if len(words) == 0 {
		t.Fatal("/proc/self/status: no RssFile: Linux tells it since 4.5")
	}
	n, err := strconv.Atoi(string(words[0]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestDrop(t *testing.T) {
	before := resident(t)
	if err := drop(); err != nil {
		t.Fatal(err)
	}
	if after := resident(t); after >= before {
		t.Errorf("%d KiB of files in memory, and before it were %d", after, before)
	}
}

func TestSettleEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		Settle(t.Context())
		if took := time.Since(start); took != settleTime {
			t.Errorf("by itself after %v, want %v", took, settleTime)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		start := time.Now()
		Settle(ctx)
		if took := time.Since(start); took != time.Second {
			t.Errorf("%v after it was cancelled in a second", took)
		}
	})
}
