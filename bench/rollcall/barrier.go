package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// program is a barrier over PyTorch's TCPStore: the server in one process, its
// clients in another, as with us.
//
//go:embed barrier.py
var program string

// barrier is the figures of one.
type barrier struct {
	Clients int     `json:"clients"` // no more than its two connections each can have descriptors
	Seconds float64 `json:"seconds"` // from the first connection until all went on
	CPU     float64 `json:"cpu"`     // seconds, of the server
	Played  float64 `json:"played"`  // seconds, of the clients
	Peak    int64   `json:"peak"`    // KiB of the server, beyond what importing torch takes
	Torch   string  `json:"torch"`
	failed  error
}

func (b barrier) String() string {
	if b.failed != nil {
		return fmt.Sprintf("TCPStore, %d clients: %v", b.Clients, b.failed)
	}
	return fmt.Sprintf("TCPStore of PyTorch %s, %d clients: %.2f s, server %.2f CPU s, clients %.2f CPU s, server's memory +%d KiB",
		b.Torch, b.Clients, b.Seconds, b.CPU, b.Played, b.Peak)
}

// patience bounds one barrier.
const patience = 3 * time.Minute

func meet(ctx context.Context, python string, n int) (barrier, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, python, "-c", program, fmt.Sprint(n))
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	b := barrier{Clients: n}
	switch {
	case ctx.Err() != nil:
		err = fmt.Errorf("not done after %s", patience)
	case err != nil:
		text := strings.TrimSpace(said.String())
		err = fmt.Errorf("%w: %s", err, text[strings.LastIndexByte(text, '\n')+1:])
	default:
		err = json.Unmarshal(out, &b)
	}
	b.failed = err
	return b, err
}
