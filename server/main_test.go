package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/muster-project/muster/api"
	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/backend/local"
	"github.com/muster-project/muster/cli"
	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/history"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/process/capture"
	"github.com/muster-project/muster/server"
	"github.com/muster-project/muster/session"
	storage "github.com/muster-project/muster/storage/local"
)

// TestMain is also the other processes of these tests: a coordinator, an
// executor with its guardian, a server, a client of another user.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "as-") {
		if err := others[os.Args[1]](os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

var others = map[string]func([]string) error{
	"as-coordinator": asCoordinator,
	"as-executor":    asExecutor,
	"as-guardian":    asGuardian,
	"as-server":      asServer,
	"as-client":      asClient,
	"as-holder":      asHolder,
	"as-muster":      asMuster,
}

// self is a process of these tests. The kernel finds the binary also for users
// who may not look into the directory that it lies in.
func self(role string, args ...string) []string {
	return append([]string{"/proc/self/exe", role}, args...)
}

// asCoordinator does nothing but live until it is told to stop. What else it
// does the job's name says.
func asCoordinator(args []string) error {
	ctx := context.Background()
	dir := args[1] // --job DIR
	if len(args) > 3 && args[2] == "--seal" {
		return seal(ctx, dir, args[3])
	}
	lock, err := local.LockCoordinator(ctx, dir)
	if err != nil {
		return err
	}
	defer lock.Close()
	var sub backend.Submission
	data, err := os.ReadFile(filepath.Join(dir, "submission.json"))
	if err == nil {
		err = json.Unmarshal(data, &sub)
	}
	if err != nil {
		return err
	}
	if err := note(dir, "starts", fmt.Sprintf("%d %d %v\n", os.Getpid(), os.Getuid(), groups())); err != nil {
		return err
	}
	if sub.Plan.Name == "crash" {
		return errors.New("crashes as it was told")
	}
	who := history.Owner{PID: os.Getpid()}
	j, events, err := history.Open(ctx, storage.FS{}, dir, who, time.Now())
	if err != nil {
		return err
	}
	defer j.Close()
	if !hasPlan(events) {
		if err := j.Append(ctx, []event.Event{session.Submit(sub.Plan, sub.Plan.User, "", time.Now())}); err != nil {
			return err
		}
	}
	if sub.Plan.Name == "talks" {
		if err := talk(ctx, dir, j); err != nil {
			return err
		}
	}
	stop := awaitStop(dir)
	if stop == nil {
		return nil
	}
	text := "stopped by " + stop.By
	return j.Append(ctx, []event.Event{{At: time.Now(), Body: &event.JobFinished{Outcome: event.Outcome{State: event.Stopped, Text: text}}}})
}

// talk is what a task that says a little leaves behind.
func talk(ctx context.Context, dir string, j *history.Journal) error {
	logs := filepath.Join(dir, "tasks", "worker-0", "1", "logs")
	if err := os.MkdirAll(logs, 0o700); err != nil {
		return err
	}
	for name, text := range map[string]string{"0.out": "loss 0.5\n", "0.err": "careful\x1b]0;evil\a\n"} {
		w, err := capture.Create(filepath.Join(logs, name), 1<<20, 1)
		if err != nil {
			return err
		}
		w.Store([]byte(text))
		w.Close()
	}
	return j.Append(ctx, []event.Event{{At: time.Now(), Body: &event.TaskStarted{Task: plan.TaskID{Role: "worker"}, Incarnation: 1}}})
}

func hasPlan(events []event.Event) bool {
	for _, e := range events {
		if _, ok := e.Body.(*event.JobSubmitted); ok {
			return true
		}
	}
	return false
}

func groups() []int {
	g, _ := os.Getgroups()
	return g
}

// note appends a line to a file of the job.
func note(dir, name, line string) error {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line)
	return errors.Join(err, f.Close())
}

// awaitStop reads the mailbox; nil if the test has taken its directory away.
func awaitStop(dir string) *api.Stop {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		if _, err := os.Stat(dir); err != nil {
			return nil
		}
		names, _ := filepath.Glob(filepath.Join(dir, "mailbox", "*.json"))
		for _, name := range names {
			var m api.Mail
			if data, err := os.ReadFile(name); err == nil && json.Unmarshal(data, &m) == nil && m.Stop != nil {
				return m.Stop
			}
		}
	}
	return nil
}

// seal is what a real coordinator package does for a job that it cannot run.
func seal(ctx context.Context, dir, reason string) error {
	j, events, err := history.Open(ctx, storage.FS{}, dir, history.Owner{PID: os.Getpid()}, time.Now())
	if err != nil {
		return err
	}
	defer j.Close()
	var out []event.Event
	if !hasPlan(events) {
		var sub backend.Submission
		data, err := os.ReadFile(filepath.Join(dir, "submission.json"))
		if err == nil {
			err = json.Unmarshal(data, &sub)
		}
		if err != nil {
			return err
		}
		out = append(out, session.Submit(sub.Plan, sub.Plan.User, "", time.Now()))
	}
	o := event.Outcome{State: event.Failed, Class: event.ClassInternal, Text: reason}
	return j.Append(ctx, append(out, event.Event{At: time.Now(), Body: &event.JobFinished{Outcome: o}}))
}

// asExecutor lives until it is asked to end. Its guardian holds the claim, too,
// and outlives it by a moment, as a real one does while it ends the tree.
func asExecutor(args []string) error {
	start := args[2] // run --context FILE --hold 3
	claim := os.NewFile(3, "claim")
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	argv := self("as-guardian")
	p, err := os.StartProcess(argv[0], argv, &os.ProcAttr{Files: []*os.File{r, nil, os.Stderr, claim}, Sys: &syscall.SysProcAttr{Setsid: true}})
	if err != nil {
		return err
	}
	r.Close()
	if err := note(filepath.Dir(start), "pids", fmt.Sprintf("%d %d\n", os.Getpid(), p.Pid)); err != nil {
		return err
	}
	<-ended
	w.Close()
	_, err = p.Wait()
	return err
}

func asGuardian([]string) error {
	os.Stdin.Read(make([]byte, 1)) // until the executor has ended
	<-time.After(50 * time.Millisecond)
	return nil
}

// config is a server with a fake coordinator, impatient.
func config(state, claims string, log *slog.Logger) server.Config {
	none := 2
	return server.Config{
		State: state, Coordinator: self("as-coordinator"), Version: "test", Claims: []string{claims}, Log: log,
		Machine: local.Settings{CPUs: 8, Memory: 8 << 30, GPUs: &none},
		Seal:    seal, Lines: self("as-muster", "lines"),
		Backoff: func(int) time.Duration { return 10 * time.Millisecond }, Attempts: 3,
	}
}

// asMuster is the command line itself.
func asMuster(args []string) error {
	status := cli.Run(cli.Env{Args: append([]string{"muster"}, args...), Environ: os.Environ(), Dir: "/",
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Signals: cli.Notify(), Now: time.Now})
	if status != 0 {
		os.Exit(status)
	}
	return nil
}

// asServer serves STATE CLAIMS IDLE SHARED, and with SOCKET on a small disk of
// its own that is mounted at STATE.
func asServer(args []string) error {
	c := config(args[0], args[1], slog.New(slog.NewTextHandler(os.Stderr, nil)))
	idle, err := time.ParseDuration(args[2])
	if err != nil {
		return err
	}
	c.Idle, c.Shared = idle, args[3] == "true"
	if len(args) > 4 {
		c.Socket = args[4]
		err := errors.Join(os.MkdirAll(c.State, 0o700), syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""),
			syscall.Mount("small", c.State, "tmpfs", 0, "size=512k,mode=700"))
		if err != nil {
			return err
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	return server.Run(ctx, c)
}
