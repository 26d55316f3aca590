package executor

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// The test's own binary is also the guardian, an executor, and a few small
// programs that tasks run.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "run", "guardian", "agent":
			os.Exit(Main(context.Background(), Program{
				Self: Self(), Environ: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
			}, os.Args[1:]))
		case "listen": // PORT: as every usual server does, with address reuse
			ln, err := net.Listen("tcp", ":"+os.Args[2])
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			_, _ = ln.Accept()
			os.Exit(0)
		case "args": // prints its arguments, each with a NUL behind it
			for _, a := range os.Args[2:] {
				_, _ = io.WriteString(os.Stdout, a+"\x00")
			}
			os.Exit(0)
		}
	}
	goleak.VerifyTestMain(m)
}

// self is this binary with a verb.
func self(t testing.TB, words ...string) []string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{exe}, words...)
}

// eventually polls until ok, and fails the test after a while.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick, late := time.NewTicker(5*time.Millisecond), time.NewTimer(30*time.Second)
	defer tick.Stop()
	defer late.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-late.C:
			t.Fatalf("never happened: %s", what)
		}
	}
}
