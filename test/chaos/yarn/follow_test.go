//go:build chaos

package yarn

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"time"

	"github.com/muster-project/muster/event"
)

// follower is a client that waits for the job's end, over everything that happens
// to the cluster.
type follower struct {
	cmd  *exec.Cmd
	out  bytes.Buffer
	said bytes.Buffer
	done chan struct{}
}

func (j *journey) follow() *follower {
	j.t.Helper()
	f := &follower{done: make(chan struct{})}
	f.cmd = j.command(j.life, "wait", "-o", "json", j.id)
	f.cmd.Stdout, f.cmd.Stderr = &f.out, &f.said
	if err := f.cmd.Start(); err != nil {
		j.t.Fatal(err)
	}
	j.owned.Go(func() {
		defer close(f.done)
		_ = f.cmd.Wait() // what it says counts
	})
	return f
}

func (f *follower) kill() {
	_ = f.cmd.Process.Kill() // it may have ended
	<-f.done
}

// outcome is what it says at the end.
func (f *follower) outcome(j *journey) event.Outcome {
	j.t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case <-f.done:
	case <-limit.C:
		j.t.Fatalf("%s: muster wait does not come to its end", j.id)
	}
	var end struct {
		Outcome event.Outcome `json:"outcome"`
	}
	if err := json.Unmarshal(f.out.Bytes(), &end); err != nil {
		j.t.Fatalf("muster wait: %v: %q\n%s", err, f.out.String(), f.said.String())
	}
	return end.Outcome
}
