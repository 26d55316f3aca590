// Command logs measures what it costs to keep a task's output: a size goes in, a
// table in Markdown comes out that compares a program whose output goes into a
// file with the same program under a guardian, which stores it in parts of a
// size, with an index of times.
//
//	go run ./bench/logs [-size 2GiB] [-rounds 3] [-block 1MiB] [-dir DIR]
//
// The program writes as fast as it can and notes how long each write took: that
// is how long a task is held up.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/muster-project/muster/process"
	"github.com/muster-project/muster/spec"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "guardian" {
		os.Exit(process.Guard(os.Stdin, os.Stdout))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 && args[0] == "write" {
		return write(args[1:])
	}
	flags := flag.NewFlagSet("logs", flag.ContinueOnError)
	size := flags.String("size", "2GiB", "how much is written")
	block := flags.String("block", "1MiB", "how much in one write")
	part := flags.String("part", "256MiB", "size at which a log is rotated")
	keep := flags.Int("keep", 3, "older parts that are kept")
	rounds := flags.Int("rounds", 3, "how often each is run; the median is told")
	where := flags.String("dir", "", "directory for the logs; a temporary one by default")
	if err := flags.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(*where, "bench-logs")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	self, err := os.Executable()
	if err != nil {
		return err
	}
	b := bench{self: self, dir: dir, keep: *keep}
	var wrong []error
	for _, v := range []struct {
		text string
		to   *int64
	}{{*size, &b.size}, {*block, &b.block}, {*part, &b.part}} {
		n, err := spec.ParseSize(v.text)
		*v.to = int64(n)
		wrong = append(wrong, err)
	}
	if err := errors.Join(wrong...); err != nil {
		return err
	}
	if err := process.Subreaper(); err != nil {
		return err
	}
	return b.run(ctx, *rounds)
}

type bench struct {
	self, dir         string
	size, block, part int64
	keep              int
}

// figures of one run.
type figures struct {
	Seconds float64 // the program's own life
	Writer  float64 // its CPU seconds
	Keeper  float64 // CPU seconds of all who keep the output
	Longest float64 // its longest write, in seconds
	Usual   float64 // 999 of 1000 writes took no longer
}

// run takes turns, so that what else the machine does hits both alike.
func (b *bench) run(ctx context.Context, rounds int) error {
	kinds := []struct {
		name string
		once func(context.Context, string) (figures, error)
	}{{"into a file", b.bare}, {"kept by muster", b.kept}}
	runs := make([][]figures, len(kinds))
	for range rounds {
		for i, k := range kinds {
			dir, err := os.MkdirTemp(b.dir, "run")
			if err != nil {
				return err
			}
			f, err := k.once(ctx, dir)
			if err != nil {
				return fmt.Errorf("%s: %w", k.name, err)
			}
			if err := os.RemoveAll(dir); err != nil {
				return err
			}
			syscall.Sync() // what one run left to write is not another's burden
			fmt.Fprintf(os.Stderr, "%s: %+v\n", k.name, f)
			runs[i] = append(runs[i], f)
		}
	}
	fmt.Println("| output | seconds | GB/s | program's CPU s per GB | keeping it, CPU s per GB | longest write | 999 of 1000 writes |")
	fmt.Println("|---|---:|---:|---:|---:|---:|---:|")
	gb := float64(b.size) / 1e9
	for i, k := range kinds {
		f := median(runs[i])
		fmt.Printf("| %s | %.2f | %.2f | %.2f | %.2f | %.1f ms | %.2f ms |\n", k.name, f.Seconds, gb/f.Seconds, f.Writer/gb, f.Keeper/gb,
			1000*f.Longest, 1000*f.Usual)
	}
	return nil
}

// command is the writing program.
func (b *bench) command(dir string) []string {
	return []string{b.self, "write", fmt.Sprint(b.size), fmt.Sprint(b.block), filepath.Join(dir, "figures.json")}
}

func (b *bench) bare(ctx context.Context, dir string) (figures, error) {
	out, err := os.Create(filepath.Join(dir, "0.out"))
	if err != nil {
		return figures{}, err
	}
	defer out.Close()
	argv := b.command(dir)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	if err := cmd.Run(); err != nil {
		return figures{}, err
	}
	return read(dir)
}

func (b *bench) kept(ctx context.Context, dir string) (figures, error) {
	before := used(syscall.RUSAGE_SELF) + used(syscall.RUSAGE_CHILDREN)
	tree, err := process.Start(ctx, process.Spec{Guardian: []string{b.self, "guardian"}, MaxSize: b.part, Keep: b.keep,
		Limits: process.Limits{Watch: true},
		Procs:  []process.Proc{{Argv: b.command(dir), Dir: dir, Stdout: filepath.Join(dir, "0.out"), Stderr: filepath.Join(dir, "0.err")}}})
	if err != nil {
		return figures{}, err
	}
	select {
	case <-tree.Done():
	case <-ctx.Done():
		tree.Stop(0, 0, true)
		<-tree.Done()
		return figures{}, ctx.Err()
	}
	r := tree.Result()
	if r.First >= 0 {
		return figures{}, fmt.Errorf("the program failed: %+v", r.Procs[r.First])
	}
	f, err := read(dir)
	// The guardian's own time is what this process's children used, without the program.
	f.Keeper = (used(syscall.RUSAGE_SELF) + used(syscall.RUSAGE_CHILDREN) - before - r.CPU).Seconds()
	return f, err
}

// used is the processor time of this process, or of its children that ended.
func used(who int) time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(who, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func read(dir string) (f figures, err error) {
	data, err := os.ReadFile(filepath.Join(dir, "figures.json"))
	if err == nil {
		err = json.Unmarshal(data, &f)
	}
	return f, err
}

// median of each figure by itself.
func median(runs []figures) figures {
	middle := func(of func(figures) float64) float64 {
		all := make([]float64, 0, len(runs))
		for _, f := range runs {
			all = append(all, of(f))
		}
		slices.SortFunc(all, cmp.Compare[float64])
		return all[len(all)/2]
	}
	return figures{
		Seconds: middle(func(f figures) float64 { return f.Seconds }), Writer: middle(func(f figures) float64 { return f.Writer }),
		Keeper: middle(func(f figures) float64 { return f.Keeper }), Longest: middle(func(f figures) float64 { return f.Longest }),
		Usual: middle(func(f figures) float64 { return f.Usual }),
	}
}
