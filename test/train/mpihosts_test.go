//go:build frameworks

package train

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/coordinator"
	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/framework"
	framempi "github.com/muster-project/muster/framework/mpi"
	"github.com/muster-project/muster/history"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/session"
	"github.com/muster-project/muster/spec"
	"github.com/muster-project/muster/storage/local"
)

// allreduce is the plan of the example for two hosts.
func allreduce(t *testing.T, m mpi, command string) *plan.Plan {
	t.Helper()
	example, err := filepath.Abs("../../examples/mpi-allreduce")
	if err != nil {
		t.Fatal(err)
	}
	role := spec.NamedRole{Name: "worker"}
	role.Instances, role.Procs = spec.Count{Min: 2, Max: 2}, 2
	role.Command = spec.Command{Shell: command}
	role.Env = map[string]spec.EnvValue{}
	for k, v := range m.env {
		role.Env[k] = spec.EnvValue{Value: v}
	}
	job := &spec.Job{Name: "allreduce", Roles: spec.Roles{role}}
	job.Workdir.Path, job.Workdir.InPlace = example, true
	job.Python.Interpreter = python(t, "mpi")
	p, err := plan.Build(job, framempi.Framework{}, plan.Capabilities{SharedFiles: true, Lease: time.Minute}, plan.Options{ID: "m-hosts", User: "root"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// drive runs a job on the hosts under a real coordinator, and returns its
// outcome and what its first task printed.
func (h *hosts) drive(p *plan.Plan) (*event.Outcome, string) {
	h.t.Helper()
	dir := h.t.TempDir()
	text, err := json.Marshal(backend.Submission{Plan: p, Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}, Dir: "/", Umask: 0o022})
	if err != nil {
		h.t.Fatal(err)
	}
	for _, d := range []string{"mailbox", "endpoint", "blobs"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			h.t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "submission.json"), text, 0o600); err != nil {
		h.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err = coordinator.Run(ctx, coordinator.Config{
		Dir: dir, Blobs: filepath.Join(dir, "blobs"), FS: local.FS{}, Gang: h, Listen: h.subnet + "254:0",
		Framework: func(string) (framework.Framework, error) { return framempi.Framework{}, nil },
		Log:       slog.New(slog.DiscardHandler),
	})
	if err != nil {
		h.t.Fatal(err)
	}
	s := session.New(session.Options{})
	for e, err := range history.Read(context.Background(), local.FS{}, dir, 0) {
		if err != nil {
			h.t.Fatal(err)
		}
		s.Evolve(e)
	}
	var log []byte
	for _, stream := range []string{"0.out", "0.err"} {
		part, err := os.ReadFile(filepath.Join(dir, "tasks", "worker-0", "1", "logs", stream))
		if err != nil {
			h.t.Fatal(err)
		}
		log = append(log, part...)
	}
	return s.View().Outcome, string(log)
}

// Nothing but the network is between the two tasks: other addresses, other host
// names, no shared memory, and no name of one that the other could resolve.
func TestMPIAddsUpOverTwoHosts(t *testing.T) {
	for name, m := range families(t) {
		t.Run(name, func(t *testing.T) {
			h := newHosts(t, 2)
			before := h.received(1)
			m.env["UCX_TLS"] = "tcp,self" // MPICH's transport sees that it is one kernel after all
			outcome, log := h.drive(allreduce(t, m, m.mpirun+" -np 4 python3 allreduce.py"))
			if outcome == nil || outcome.State != event.Succeeded {
				t.Fatalf("outcome %+v:\n%s", outcome, log)
			}
			if nodes := summed(t, m, log); len(nodes) != 2 || nodes[0] != "host0" || nodes[1] != "host1" {
				t.Errorf("ranks ran on %v", nodes)
			}
			// A vector has a megabyte, and each host lacks what the other's ranks have.
			if got := h.received(1) - before; got < 1<<20 {
				t.Errorf("the second host received %d bytes: the sum did not go over the network", got)
			}
			h.left()
		})
	}
}
