// Command launch measures how soon 1, 8 and 32 trivial processes run on this
// machine and have ended, and what that costs: programs that start processes go
// in, a table in Markdown comes out that compares muster with its peers, all in
// one run.
//
//	go run ./bench/launch -muster bin/muster [-torch PYTHON] [-torchx PYTHON] [-ray PYTHON] [-horovod PYTHON]
//
// mpirun is taken from PATH. A peer that is not given is not measured, and the
// output says so. Each process notes the time at which it runs (mark); everything
// has ended when the command returns. Servers (muster's, Ray's head) run before
// anything is measured; what they spend on a job counts, what they hold is told
// apart. Memory is looked at in a further run whose processes wait.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
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

// options is the command line.
type options struct {
	muster, torch, torchx, ray, horovod string
	counts                              []int
	rounds, times                       int
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("launch", flag.ContinueOnError)
	flags.StringVar(&o.muster, "muster", "bin/muster", "the program to measure")
	flags.StringVar(&o.torch, "torch", "", "a Python that has PyTorch: test/python/torch.sh prints one")
	flags.StringVar(&o.torchx, "torchx", "", "a Python that has TorchX: test/python/pypi.sh torchx")
	flags.StringVar(&o.ray, "ray", "", "a Python that has Ray: test/python/pypi.sh ray")
	flags.StringVar(&o.horovod, "horovod", "", "a Python that has Horovod: test/python/horovod.sh")
	counts := flags.String("counts", "1,8,32", "numbers of processes")
	flags.IntVar(&o.rounds, "rounds", 3, "how often everything is run; the median is told")
	flags.IntVar(&o.times, "times", 5, "how often in each round those are run that take less than a second")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	for word := range strings.SplitSeq(*counts, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 {
			return o, fmt.Errorf("-counts %s: positive numbers are wanted", word)
		}
		o.counts = append(o.counts, n)
	}
	return o, nil
}

func run(ctx context.Context, args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	if err := reapHere(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "launch") // short: sockets lie in it
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{dir: dir, mark: filepath.Join(dir, "mark")}
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", b.mark, "github.com/muster-project/muster/bench/launch/mark").CombinedOutput(); err != nil {
		return fmt.Errorf("mark: cannot be built: %w: %s", err, out)
	}
	if o.muster, err = filepath.Abs(o.muster); err != nil {
		return err
	}
	b.options = o
	rows, err := b.all(ctx, systems(o, dir))
	print(os.Stdout, rows)
	if ctx.Err() != nil {
		return err
	}
	sizes, ownErr := own(ctx, b, rows)
	fmt.Printf("\n%s\n", sizes)
	return errors.Join(err, ownErr)
}
