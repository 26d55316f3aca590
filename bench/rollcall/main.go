// Command rollcall measures what a large job costs its coordinator: numbers of
// executors go in, tables in Markdown come out, for a roll call, for beats, and
// for looking at the job; beside them a barrier of as many clients of PyTorch's
// TCPStore.
//
//	go run ./bench/rollcall [-executors 100,1000,10000] [-python PYTHON] [-framework pytorch] [-profile DIR]
//
// The coordinator is the real one, in a process of its own: session, journal on
// this machine's disk, certificates, framework and links. What is played is the
// gang, which grants every slot at once, and the executors: these are connections
// of this process that speak the real protocol, and start no task.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	switch { // this program again, as another process
	case len(args) > 0 && args[0] == "coordinate":
		return coordinate(ctx, args[1:])
	case len(args) > 1 && args[0] == "look":
		return lookAt(ctx, args[1:])
	}
	flags := flag.NewFlagSet("rollcall", flag.ContinueOnError)
	list := flags.String("executors", "100,1000,10000", "numbers of executors")
	python := flags.String("python", "", "a Python that has PyTorch: test/python/torch.sh prints one; empty leaves the barrier out")
	name := flags.String("framework", "pytorch", "framework of the job: pytorch, plain")
	profile := flags.String("profile", "", "directory for profiles of the coordinator")
	muster := flags.String("muster", "", "a muster that shows the status of each job; empty leaves that out")
	if err := flags.Parse(args); err != nil {
		return err
	}
	counts, err := numbers(*list)
	if err != nil {
		return err
	}
	var rows []figures
	var peers []barrier
	var failed []error
	for _, n := range counts {
		f, err := once(ctx, settings{executors: n, framework: *name, profile: *profile, muster: *muster})
		if err != nil {
			return fmt.Errorf("%d executors: %w", n, err)
		}
		fmt.Fprintln(os.Stderr, f)
		rows = append(rows, f)
		if *python == "" {
			continue
		}
		b, err := meet(ctx, *python, n)
		if err != nil {
			failed = append(failed, fmt.Errorf("TCPStore, %d clients: %w", n, err))
		}
		fmt.Fprintln(os.Stderr, b)
		peers = append(peers, b)
	}
	fmt.Print(tables(rows, peers))
	return errors.Join(failed...)
}

func numbers(list string) ([]int, error) {
	var out []int
	for _, word := range strings.Split(list, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("-executors %s: positive numbers are wanted", list)
		}
		out = append(out, n)
	}
	return out, nil
}
