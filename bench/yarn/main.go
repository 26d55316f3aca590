// Command yarn measures how soon a trivial job runs on YARN, and what that
// costs: a running cluster goes in, a table in Markdown comes out that compares
// muster with its peers, on the same cluster in the same run.
//
//	go run ./bench/yarn -conf HADOOP_CONF_DIR -muster bin/muster -skein PYTHON [-tasks 2,8,32] [-only skein,tony]
//
// Each task writes the time at which it runs into a file, and lasts three
// seconds. What the command and the containers use is read from /proc.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/muster-project/muster/test/cluster/hadoop/lab"
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
	flags := flag.NewFlagSet("yarn", flag.ContinueOnError)
	conf := flags.String("conf", "", "HADOOP_CONF_DIR of a cluster of ours")
	muster := flags.String("muster", "bin/muster", "the program to measure")
	python := flags.String("skein", "", "a Python that has Skein: bench/yarn/skein.sh prints one")
	tasks := flags.String("tasks", "2,8,32", "numbers of tasks")
	rounds := flags.Int("rounds", 1, "how often each is run; the median is told")
	only := flags.String("only", "", "names of systems, all by default")
	cache := flags.String("cache", "", "where downloads are kept")
	if err := flags.Parse(args); err != nil {
		return err
	}
	counts, err := numbers(*tasks)
	if err != nil {
		return err
	}
	cluster, err := lab.Open(*conf)
	if err != nil {
		return err
	}
	if *cache == "" {
		if *cache, err = os.UserCacheDir(); err != nil {
			return err
		}
		*cache = filepath.Join(*cache, "muster-dev")
	}
	dir, err := os.MkdirTemp("", "bench-yarn")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program, err := filepath.Abs(*muster)
	if err != nil {
		return err
	}
	site := site{cluster: cluster, cache: filepath.Join(*cache, "peers"), dir: dir}
	b := bench{site: site, rounds: *rounds}
	for _, s := range []system{&ours{program: program}, &shell{}, &skein{python: *python}, &tony{}} {
		if *only == "" || slices.Contains(strings.Split(*only, ","), s.name()) {
			b.systems = append(b.systems, s)
		}
	}
	rows, err := b.run(ctx, counts)
	fmt.Print(table(rows))
	return err
}

func numbers(list string) ([]int, error) {
	var out []int
	for _, word := range strings.Split(list, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("-tasks %s: positive numbers are wanted", list)
		}
		out = append(out, n)
	}
	return out, nil
}

// bench is all runs of one call.
type bench struct {
	site
	systems []system
	rounds  int
}

// row is one line of the table.
type row struct {
	system string
	tasks  int
	runs   []figures
	err    error
}

// run measures the systems one after the other, at each number of tasks. One that
// fails has its error in the table, and the others go on.
func (b *bench) run(ctx context.Context, counts []int) ([]row, error) {
	if err := reapHere(); err != nil {
		return nil, err
	}
	var rows []row
	var failed []error
	ready := map[system]error{}
	for _, s := range b.systems {
		ready[s] = s.prepare(ctx, b.site)
		if ready[s] == nil { // files in the page cache, blobs uploaded
			_, ready[s] = b.once(ctx, s, 1)
		}
		fmt.Fprintf(os.Stderr, "%s: prepared and tried: %v\n", s.name(), cmp.Or(ready[s], errors.New("ok")))
	}
	for _, n := range counts {
		for _, s := range b.systems {
			r := row{system: s.name(), tasks: n, err: ready[s]}
			for round := 0; r.err == nil && round < b.rounds; round++ {
				var f figures
				f, r.err = b.once(ctx, s, n)
				if r.err == nil {
					r.runs = append(r.runs, f)
				}
				fmt.Fprintf(os.Stderr, "%s, %d tasks: %v %v\n", s.name(), n, f, cmp.Or(r.err, errors.New("ok")))
			}
			if r.err != nil {
				failed = append(failed, fmt.Errorf("%s, %d tasks: %w", s.name(), n, r.err))
			}
			rows = append(rows, r)
			if ctx.Err() != nil {
				return rows, ctx.Err()
			}
		}
	}
	return rows, errors.Join(failed...)
}

// limit bounds one run. A peer with 32 tasks starts as many JVMs.
const limit = 6 * time.Minute
