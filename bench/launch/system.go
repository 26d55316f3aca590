package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// system is one way to start processes.
type system struct {
	name string
	slow bool // takes seconds
	// command runs n processes of the argument list and waits for their end.
	command func(n int, argv []string) (args, env []string)
	daemon  *daemon // what must run before; nil: nothing
	// keeps says that its server keeps processes of a job for the next one.
	keeps bool
	// absent says why it is not measured.
	absent string
}

// daemon is a server, a child of this process. Two systems may share one.
type daemon struct {
	args, env []string
	ready     func(ctx context.Context) error // nil once it answers
	cmd       *exec.Cmd                       // nil until it was started
}

func systems(o options, dir string) []system {
	all := ours(o.muster, dir)
	all = append(all, mpi("OpenMPI", "mpirun.openmpi", "--oversubscribe"), mpi("MPICH", "mpirun.mpich"),
		torchrun(o.torch, dir), torchx(o.torchx, dir), ray(o.ray, dir), horovodrun(o.horovod))
	return all
}

const tasksName = "muster run -N N"

// ours is muster, in both of its ways: the processes of one task, as the ranks
// that one mpirun or torchrun has on a machine, and tasks of their own, each with
// a slot, an executor and a guardian.
func ours(program, dir string) []system {
	env := []string{"MUSTER_HOME=" + filepath.Join(dir, "h"), "MUSTER_CLAIMS=" + filepath.Join(dir, "claims"), "MUSTER_SITE="}
	server := &daemon{args: []string{program, "serve", "--idle", "0"}, env: env}
	server.ready = func(context.Context) error {
		_, err := os.Stat(filepath.Join(dir, "h", "serve.sock"))
		return err
	}
	procs := system{name: "muster run --procs N", daemon: server}
	procs.command = func(n int, argv []string) ([]string, []string) {
		return append([]string{program, "run", "--procs", strconv.Itoa(n), "--"}, argv...), env
	}
	tasks := system{name: tasksName, daemon: server}
	tasks.command = func(n int, argv []string) ([]string, []string) {
		share := min(1, float64(runtime.NumCPU())/float64(n))
		return append([]string{program, "run", "-N", strconv.Itoa(n), "-c", fmt.Sprintf("%.2f", share), "--memory", "64MiB", "--"}, argv...), env
	}
	return []system{procs, tasks}
}

func mpi(name, program string, flags ...string) system {
	s := system{name: name}
	if _, err := exec.LookPath(program); err != nil {
		s.absent = program + " is not in PATH"
	}
	env := []string{"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"}
	s.command = func(n int, argv []string) ([]string, []string) {
		return append(append(append([]string{program}, flags...), "-n", strconv.Itoa(n)), argv...), env
	}
	return s
}

// given makes a system of one that needs a Python.
func given(name, python, flag string) system {
	s := system{name: name, slow: true}
	if python == "" {
		s.absent = "-" + flag + " is not given"
	}
	return s
}

// torchrun with its fixed rendezvous, the fastest it has. With these redirections
// Debian's works, too.
func torchrun(python, dir string) system {
	s := given("torchrun", python, "torch")
	s.command = func(n int, argv []string) ([]string, []string) {
		return append([]string{python, "-m", "torch.distributed.run", "--redirects", "1", "--tee", "1", "--log_dir", filepath.Join(dir, "torch"),
			"--master_port", strconv.Itoa(freePort()), "--nproc_per_node", strconv.Itoa(n), "--no_python"}, argv...), []string{"OMP_NUM_THREADS=1"}
	}
	return s
}

func torchx(python, dir string) system {
	s := given("TorchX local_cwd", python, "torchx")
	logs := "log_dir=" + filepath.Join(dir, "torchx")
	s.command = func(n int, argv []string) ([]string, []string) {
		return append([]string{filepath.Join(filepath.Dir(python), "torchx"), "run", "--wait", "--scheduler", "local_cwd", "--scheduler_args", logs,
			"utils.sh", "--num_replicas", strconv.Itoa(n)}, argv...), nil
	}
	return s
}

// ray is a running head and a job whose entry point is a shell that starts the
// processes: tasks of Ray's own would cost a Python each on top.
func ray(python, dir string) system {
	s := given("ray job submit", python, "ray")
	if s.absent != "" {
		return s
	}
	s.keeps = true
	page := strconv.Itoa(freePort())
	address := "http://127.0.0.1:" + page
	env := []string{"RAY_USAGE_STATS_ENABLED=0", "PATH=" + filepath.Dir(python) + ":" + os.Getenv("PATH")}
	s.daemon = &daemon{env: env, args: []string{python, "-m", "ray.scripts.scripts", "start", "--head", "--block", "--port", strconv.Itoa(freePort()),
		"--node-ip-address", "127.0.0.1", "--dashboard-port", page, "--temp-dir", filepath.Join(dir, "r"), "--object-store-memory", "100000000"}}
	s.daemon.ready = func(ctx context.Context) error {
		q, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/api/version", nil)
		if err != nil {
			return err
		}
		a, err := http.DefaultClient.Do(q)
		if err != nil {
			return err
		}
		_ = a.Body.Close() // the status is all that counts
		if a.StatusCode != http.StatusOK {
			return errors.New(a.Status)
		}
		// It answers long before it takes a job.
		args, _ := s.command(1, []string{"true"})
		cmd := exec.CommandContext(ctx, args[0], args[1:]...)
		cmd.Env = append(os.Environ(), env...)
		return cmd.Run()
	}
	s.command = func(n int, argv []string) ([]string, []string) {
		script := fmt.Sprintf("for i in $(seq %d); do %s & done; wait", n, strings.Join(argv, " "))
		return []string{python, "-m", "ray.scripts.scripts", "job", "submit", "--address", address, "--", "sh", "-c", "'" + script + "'"}, env
	}
	return s
}

func horovodrun(python string) system {
	s := given("horovodrun", python, "horovod")
	s.command = func(n int, argv []string) ([]string, []string) {
		return append([]string{filepath.Join(filepath.Dir(python), "horovodrun"), "--gloo", "-np", strconv.Itoa(n), "-H", "localhost:" + strconv.Itoa(n)}, argv...),
			[]string{"PATH=" + filepath.Dir(python) + ":" + os.Getenv("PATH")}
	}
	return s
}

// freePort is one that nobody listens on now.
func freePort() int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// startTime bounds the start of a server: Ray's head takes its time.
const startTime = 3 * time.Minute

// start starts a server and waits until it answers.
func (d *daemon) start(ctx context.Context) error {
	d.cmd = exec.Command(d.args[0], d.args[1:]...)
	d.cmd.Env = append(os.Environ(), d.env...)
	if err := d.cmd.Start(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		err := d.ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return fmt.Errorf("%s: does not answer: %w", d.args[0], err)
		}
	}
}

// end ends a server and what is below it.
func (d *daemon) end() {
	_ = d.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	late := time.AfterFunc(10*time.Second, func() { _ = d.cmd.Process.Kill() })
	defer late.Stop()
	_ = d.cmd.Wait() // by our signal
}
