package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"
)

// What a keeper can be asked for. Each request is a connection of its own: one
// line of JSON there, one back when it has been carried out.
const (
	opStart  = "start"
	opStop   = "stop"
	opKill   = "kill"
	opLose   = "lose"
	opPause  = "pause"
	opResume = "resume"
	opList   = "list"
	opOwn    = "own" // from now on the keeper ends with the process PID, or with none
	opEnd    = "end"
)

type request struct {
	Op   string   `json:"op"`
	Name string   `json:"name,omitempty"`
	Args []string `json:"args,omitempty"`
	PID  int      `json:"pid,omitempty"`
}

type reply struct {
	Error   string   `json:"error,omitempty"`
	Running []Status `json:"running,omitempty"`
}

// Status is what the keeper knows of a daemon.
type Status struct {
	Name  string    `json:"name"`
	Since time.Time `json:"since"`           // when it was started
	PID   int       `json:"pid"`             // 0 when it does not run
	Ended string    `json:"ended,omitempty"` // how it ended
	Asked bool      `json:"asked,omitempty"` // whether somebody wanted that
}

// errNoKeeper is what a request fails with when the cluster is down.
var errNoKeeper = errors.New("the cluster is down")

// patience bounds one request. A NodeManager that ends in order takes seconds.
const patience = time.Minute

func (c *Cluster) ask(ctx context.Context, r request) error {
	_, err := c.exchange(ctx, r)
	return err
}

// Daemons says of each daemon whether it runs.
func (c *Cluster) Daemons(ctx context.Context) ([]Status, error) {
	answer, err := c.exchange(ctx, request{Op: opList})
	return answer.Running, err
}

func (c *Cluster) exchange(ctx context.Context, r request) (reply, error) {
	fail := func(err error) (reply, error) {
		if r.Name != "" {
			err = fmt.Errorf("%s %s: %w", r.Op, r.Name, err)
		}
		return reply{}, fmt.Errorf("cluster %s: %w", c.Dir, err)
	}
	if r.Name != "" {
		if err := c.known(r.Name); err != nil {
			return fail(err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", c.socket())
	if err != nil {
		return fail(fmt.Errorf("%w: %w", errNoKeeper, err))
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if err := json.NewEncoder(conn).Encode(r); err != nil {
		return fail(err)
	}
	var answer reply
	if err := json.NewDecoder(conn).Decode(&answer); err != nil {
		if ctx.Err() != nil {
			return fail(fmt.Errorf("keeper: no answer: %w", ctx.Err()))
		}
		return fail(fmt.Errorf("%w: its keeper ended without an answer: %w", errNoKeeper, err))
	}
	if answer.Error != "" {
		return fail(errors.New(answer.Error))
	}
	return answer, nil
}

func (c *Cluster) socket() string { return c.path("keeper.sock") }
