package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"sync"
	"syscall"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/coordinator"
	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/framework"
	"github.com/muster-project/muster/framework/plain"
	"github.com/muster-project/muster/framework/pytorch"
	"github.com/muster-project/muster/internal/frugal"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/storage/local"
)

// coordinate is the other process: the coordinator of the job in a directory, as
// "muster" runs it. What each executor is born with goes out on standard output.
func coordinate(ctx context.Context, args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("coordinate: a directory and a place for profiles are wanted")
	}
	frugal.Set(4, os.Environ())
	if args[1] != "" {
		defer profile(args[1])()
	}
	return coordinator.Run(ctx, coordinator.Config{
		Dir: args[0], FS: local.FS{}, Gang: opener{}, Framework: known, Listen: "127.0.0.1:0",
		Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
}

func known(name string) (framework.Framework, error) {
	for _, f := range []framework.Framework{pytorch.Framework{}, plain.Framework{}} {
		if f.Name() == name {
			return f, nil
		}
	}
	return nil, fmt.Errorf("framework %s: is not one of this benchmark", name)
}

// profile writes profiles of the processor and of the memory for each part of a
// run; a signal of the other process says that the next part begins.
func profile(dir string) (end func()) {
	runtime.MemProfileRate = 64 << 10
	next := make(chan os.Signal, 1)
	signal.Notify(next, syscall.SIGUSR1)
	enough, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for part := 1; ; part++ {
			name := filepath.Join(dir, fmt.Sprintf("%d.", part))
			cpu, err := os.Create(name + "cpu")
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				return
			}
			_ = pprof.StartCPUProfile(cpu) // nobody else makes one
			over := false
			select {
			case <-next:
			case <-enough:
				over = true
			}
			pprof.StopCPUProfile()
			cpu.Close()
			if heap, err := os.Create(name + "heap"); err == nil {
				_ = pprof.Lookup("heap").WriteTo(heap, 0)
				heap.Close()
			}
			if over {
				return
			}
		}
	}()
	return func() { close(enough); <-done }
}

// opener makes a gang that has every slot that it is asked for.
type opener struct{}

func (opener) Open(context.Context, *plan.Plan, int64, []backend.Slot) (backend.Gang, error) {
	return &gang{feed: backend.NewFeed(), out: bufio.NewWriter(os.Stdout)}, nil
}

type gang struct {
	feed *backend.Feed
	mu   sync.Mutex
	out  *bufio.Writer
}

// perNode is how many tasks share a node.
const perNode = 8

// Request grants all at once.
func (g *gang) Request(_ context.Context, r backend.Request) error {
	for i, a := range r.Asks {
		g.feed.Tell(backend.Event{Granted: &backend.Slot{ID: fmt.Sprintf("s%d", i), Request: r.Number, Task: a.Task,
			Node: fmt.Sprintf("node%04d", i/perNode), Rack: fmt.Sprintf("rack%d", i/perNode/32), Resources: a.Resources}})
	}
	return nil
}

// Launch hands the contexts over to whoever plays the executors.
func (g *gang) Launch(_ context.Context, starts []backend.Start) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, s := range starts {
		var line json.RawMessage = s.Context
		if err := json.NewEncoder(g.out).Encode(line); err != nil {
			return err
		}
		g.feed.Tell(backend.Event{Started: &backend.Started{Slot: s.Slot.ID, Native: []byte(`{"pid":4711}`)}})
	}
	return g.out.Flush()
}

// Release takes the backend's word for it: played executors leave nothing.
func (g *gang) Release(_ context.Context, slots []string, _ bool) error {
	for _, id := range slots {
		g.feed.Tell(backend.Event{Gone: &backend.Gone{Slot: id}})
	}
	return nil
}

func (g *gang) Events() <-chan backend.Event { return g.feed.Events() }

func (g *gang) Close(context.Context, event.Outcome) error { return g.Leave() }

func (g *gang) Leave() error {
	g.feed.Close()
	return nil
}
