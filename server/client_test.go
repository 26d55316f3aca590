package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/muster-project/muster/api"
	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/backend/local"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

// asClient is somebody at SOCKET who does VERB to a job ID and prints the answer.
func asClient(args []string) error {
	ctx := context.Background()
	c := api.NewClient(args[0], nil)
	var out any
	var err error
	switch verb, id := args[1], args[2]; verb {
	case "submit":
		out, err = c.Submit(ctx, backend.Submission{Plan: job(id, "digits", 1, one), Environ: os.Environ(), Dir: "/"})
	case "submit-shared":
		p := job(id, "digits", 1, one)
		p.ACLs = spec.ACLs{View: spec.People{Users: []string{"63002"}}, Modify: spec.People{Groups: []string{"63104"}}}
		out, err = c.Submit(ctx, backend.Submission{Plan: p, Dir: "/"})
	case "submit-talking":
		p := job(id, "talks", 1, one)
		p.ACLs = spec.ACLs{View: spec.People{Users: []string{"63002"}}}
		out, err = c.Submit(ctx, backend.Submission{Plan: p, Dir: "/"})
	case "submit-crash":
		out, err = c.Submit(ctx, backend.Submission{Plan: job(id, "crash", 1, one), Dir: "/"})
	case "job":
		out, err = c.Job(ctx, id)
	case "jobs":
		out, err = c.Jobs(ctx, true)
	case "events":
		for _, e := range c.Events(ctx, id, 1, false) {
			err = e
		}
	case "stop":
		err = c.Stop(ctx, id, api.Stop{})
	case "signal":
		err = c.Signal(ctx, id, api.Signal{Signal: "SIGUSR1"})
	case "requeue":
		err = c.Requeue(ctx, id, api.Requeue{})
	case "logs":
		for _, e := range c.Lines(ctx, id, api.Lines{Tail: -1}) {
			err = e
		}
		if err != nil {
			return err
		}
		_, err = c.Logs(ctx, id, api.Logs{Task: plan.TaskID{Role: "worker"}, Stream: "out"})
	case "slots":
		for _, e := range c.Slots(ctx, api.SlotRequest{Job: id, Number: 1}) {
			err = e
		}
	case "shutdown":
		err = c.Shutdown(ctx, false)
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(out)
}

// asHolder is an engine of another user that takes GPUs of the machine and
// keeps them until its input ends.
func asHolder(args []string) error {
	var n int
	if _, err := fmt.Sscan(args[1], &n); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	e := engine(args[0])
	go e.Run(ctx)
	_, answers := e.Request(local.Wanted{Job: "m-holder", User: fmt.Sprint(os.Getuid()), Number: 1, Minimum: 1,
		Asks: []backend.Ask{{Task: plan.TaskID{Role: "worker"}, Resources: plan.Resources{GPUs: n}}}}, os.Getuid())
	for a := range answers {
		if err := json.NewEncoder(os.Stdout).Encode(a); err != nil {
			return err
		}
		if a.Done {
			break
		}
	}
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// engine has four GPUs that nobody else knows of.
func engine(claims string) *local.Engine {
	four := 4
	s := local.Settings{CPUs: 8, Memory: 8 << 30, GPUs: &four}
	m, err := local.Inventory(s)
	if err != nil {
		panic(err)
	}
	return local.NewEngine(m, s, local.Ledger{Dirs: []string{claims}}, slog.New(slog.DiscardHandler))
}
