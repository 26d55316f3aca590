package executor

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/muster-project/muster/internal/frugal"
	"github.com/muster-project/muster/internal/version"
	"github.com/muster-project/muster/process"
	"github.com/muster-project/muster/storage"
)

// Program is what the process gives Main.
type Program struct {
	Self    []string // command line that comes to Main again, in front of its arguments
	Environ []string
	Stdin   *os.File
	Stdout  *os.File
	Stderr  io.Writer
	// Births are further verbs: the places where an executor can be born without
	// a start file.
	Births map[string]Birth
}

// Birth finds out what an executor needs in a place of its kind.
type Birth func(ctx context.Context, p Program, log *slog.Logger) (*Born, error)

// Born is an executor that can run.
type Born struct {
	Context Context
	Environ []string // see Options
	// FS and Published: see Options.
	FS        storage.FS
	Published map[string]string
	// Credentials: see Options.
	Credentials func(serial int64, data []byte) error
	// Close takes away what the birth made, once nothing runs any more; may be nil.
	Close func() error
}

// Self is a command line for this very binary, also after its file was
// replaced: the kernel knows it.
func Self(verbs ...string) []string { return append([]string{"/proc/self/exe"}, verbs...) }

// Main is the executor's whole command line, in its own binary and behind the
// hidden verb of muster; it returns the exit status.
//
//	run --context FILE [--hold FD]…
//	guardian
//	agent [options of ssh] NAME COMMAND…, or agent --await NAME
//	the names of p.Births
func Main(ctx context.Context, p Program, args []string) int {
	if len(args) == 0 {
		fmt.Fprintln(p.Stderr, "executor: run --context FILE, or guardian: it is started by muster, not by people")
		return usage
	}
	switch args[0] {
	case "guardian":
		thrifty(p)
		return process.Guard(p.Stdin, p.Stdout)
	case "agent":
		thrifty(p)
		return reach(ctx, p, args[1:])
	case "run":
		return run(ctx, p, args[1:])
	case "version":
		fmt.Fprintln(p.Stdout, version.String())
		return 0
	}
	if birth, ok := p.Births[args[0]]; ok {
		return bear(ctx, p, birth)
	}
	fmt.Fprintf(p.Stderr, "%s: no such verb: run or guardian\n", args[0])
	return usage
}

// The exit statuses of an executor.
const (
	usage   = 64
	ours    = 70
	leftOff = 75 // ended without being told by its coordinator
)

// Orderly says whether an executor that exited with a status had ended its tree
// before: only a crash has another.
func Orderly(status int) bool { return status == 0 || status == leftOff }

func run(ctx context.Context, p Program, args []string) int {
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	flags.SetOutput(p.Stderr)
	file := flags.String("context", "", "the start file of this executor")
	var hold holds
	flags.Var(&hold, "hold", "a descriptor to keep open as long as anything of the slot lives")
	if flags.Parse(args) != nil {
		return usage
	}
	c, err := readContext(*file)
	if err != nil {
		fmt.Fprintln(p.Stderr, err)
		return usage
	}
	thrifty(p)
	return spend(ctx, p, Born{Context: c, Environ: p.Environ}, hold, logger(p))
}

// bear runs an executor that has no start file.
func bear(ctx context.Context, p Program, birth Birth) int {
	thrifty(p)
	log := logger(p)
	born, err := birth(ctx, p, log)
	if err != nil {
		log.Error("cannot begin", "error", err)
		return ours
	}
	status := spend(ctx, p, *born, nil, log)
	if born.Close != nil {
		if err := born.Close(); err != nil {
			log.Warn("not cleaned up", "error", err)
		}
	}
	return status
}

func logger(p Program) *slog.Logger { return slog.New(slog.NewTextHandler(p.Stderr, nil)) }

// spend is the life of an executor.
func spend(ctx context.Context, p Program, born Born, hold holds, log *slog.Logger) int {
	// A hang-up of whoever started us is no reason to end.
	signal.Ignore(syscall.SIGHUP)
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	inner, settled := context.WithCancel(ctx)
	var settling sync.WaitGroup
	settling.Go(func() { frugal.Settle(inner) })
	defer settling.Wait()
	defer settled()
	err := Run(ctx, born.Context, Options{
		Guardian: append(p.Self[:len(p.Self):len(p.Self)], "guardian"),
		Agent:    append(p.Self[:len(p.Self):len(p.Self)], "agent"),
		Log:      log, Version: version.String(), Environ: born.Environ, Hold: hold,
		FS: born.FS, Published: born.Published, Credentials: born.Credentials,
	})
	switch {
	case err == nil:
		return 0
	case errors.Is(err, ErrLease), errors.Is(err, ErrTerminated):
		log.Warn("ended", "reason", err)
		return leftOff
	}
	log.Error("ended", "error", err)
	return ours
}

// readContext reads a start file.
func readContext(file string) (Context, error) {
	var c Context
	text, err := os.ReadFile(file)
	if err != nil {
		return c, fmt.Errorf("--context: %w", err)
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return c, fmt.Errorf("%s: not a start file: %w", file, err)
	}
	return c, nil
}

// thrifty trades a little CPU for memory: an executor is idle nearly all its
// life, and there may be many on a node.
func thrifty(p Program) {
	frugal.Set(2, p.Environ)
	debug.SetMemoryLimit(12 << 20)
	frugal.Drop()
}

// holds are descriptors that we inherited.
type holds []*os.File

func (h *holds) String() string { return strconv.Itoa(len(*h)) }

func (h *holds) Set(text string) error {
	for word := range strings.SplitSeq(text, ",") {
		fd, err := strconv.Atoi(word)
		if err != nil || fd < 3 {
			return errors.New("not a descriptor that can be held")
		}
		// Only the guardian gets it, and it says so itself.
		syscall.CloseOnExec(fd)
		*h = append(*h, os.NewFile(uintptr(fd), "hold"))
	}
	return nil
}
