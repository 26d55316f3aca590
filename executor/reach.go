package executor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/wire"
)

// unreached is the agent's status where the command did not run or its end is
// not known, as ssh has it.
const unreached = 255

// withWord ends the line with which a task says that it ends because another one
// did; what judges the job takes it for an echo.
const withWord = "this task ends with it"

// reach is the verb agent: it stands in for ssh where a program wants to start
// another one in another task, and it waits for another task's end.
//
//	agent [options of ssh] NAME COMMAND…
//	agent --await NAME
func reach(ctx context.Context, p Program, args []string) int {
	await := len(args) > 0 && args[0] == "--await"
	if await {
		args = args[1:]
	}
	name, words := destination(args)
	if name == "" || await != (len(words) == 0) {
		fmt.Fprintln(p.Stderr, "agent: write the name of a task and a command, or --await and the name of a task")
		return usage
	}
	call := wire.Call{Peer: name}
	if !await {
		// ssh gives its arguments, with blanks between them, to a shell.
		call.Argv = []string{"/bin/sh", "-c", strings.Join(words, " ")}
	}
	s, err := callAgent(ctx, p, call)
	if err != nil {
		fmt.Fprintf(p.Stderr, "%s: %v\n", name, err)
		return unreached
	}
	if await {
		return awaited(ctx, p, s, name)
	}
	return attach(ctx, p, s, name)
}

// callAgent calls by the socket of the task in which this process runs.
func callAgent(ctx context.Context, p Program, call wire.Call) (*wire.Stream, error) {
	dir, ok := variable(p.Environ, "MUSTER_DIR")
	if !ok {
		return nil, errors.New("MUSTER_DIR: not set: other tasks are reached from inside a task only")
	}
	d, path, err := socketIn(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("%s: the executor does not answer: %w", dir, err)
	}
	return wire.StartCall(conn, call)
}

// attach passes on what goes in and out, and signals.
func attach(ctx context.Context, p Program, s *wire.Stream, name string) int {
	caught := make(chan os.Signal, 8)
	signal.Notify(caught, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2)
	defer signal.Stop(caught)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	signals := make(chan string)
	go func() {
		for {
			select {
			case sig := <-caught:
				n, _ := sig.(syscall.Signal)
				select {
				case signals <- unix.SignalName(n):
				case <-ctx.Done():
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	exit, err := s.Attach(ctx, p.Stdin, p.Stdout, p.Stderr, signals)
	if err != nil {
		fmt.Fprintf(p.Stderr, "%s: %v\n", name, err)
		return unreached
	}
	if exit.Class == event.ClassStart || exit.Class == event.ClassPrepare {
		fmt.Fprintf(p.Stderr, "%s: %s\n", name, exit.Text)
	}
	return exit.Status
}

// awaited waits until another task has ended, and ends as that one did.
func awaited(ctx context.Context, p Program, s *wire.Stream, name string) int {
	// A warning that is meant for the program is none for us.
	signal.Ignore(syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2)
	exit, err := s.Attach(ctx, nil, io.Discard, io.Discard, nil)
	switch {
	case err != nil:
		fmt.Fprintf(p.Stderr, "%s: %v: %s\n", name, err, withWord)
		return 1
	case exit.Failed():
		fmt.Fprintf(p.Stderr, "%s: ended with status %d: %s\n", name, exit.Status, withWord)
		return max(1, exit.Status)
	}
	return 0
}

// valued are the options of ssh that have a value.
const valued = "BbcDEeFIiJLlmOopQRSWw"

// destination finds the name behind options of ssh, and the command behind it.
func destination(args []string) (name string, command []string) {
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "--":
		case len(a) > 1 && a[0] == '-':
			if len(a) == 2 && strings.Contains(valued, a[1:]) {
				i++
			}
			continue
		case name == "":
			_, host, found := strings.Cut(a, "@")
			if name = host; !found {
				name = a
			}
			continue
		}
		if a == "--" && name == "" {
			continue
		}
		if a == "--" {
			i++
		}
		return name, args[i:]
	}
	return name, nil
}
