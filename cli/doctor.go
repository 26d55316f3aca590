package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/backend/local"
)

// finding is one line of doctor.
type finding struct {
	Check   string `json:"check"`
	Verdict string `json:"verdict"` // ok, warning, failed
	Text    string `json:"text"`
	Hint    string `json:"hint,omitempty"`
}

// checkTime bounds one check: a sick driver or file system must not hold the rest up.
const checkTime = 10 * time.Second

func (e *Env) doctorCommand() *cobra.Command {
	var out output
	cmd := &cobra.Command{
		Use: "doctor", GroupID: "site", Short: "check this machine or a cluster and say what to do",
		Long: "Check what jobs on this machine need, or with --on what they need of a cluster. Exit status 0 if\n" +
			"they can run, 69 if something fails.",
		Example: "  muster doctor\n  muster doctor --on yarn",
		Args:    count(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			found, err := e.diagnose(cmd.Context())
			if err != nil {
				return err
			}
			failed := 0
			for _, f := range found {
				if f.Verdict == "failed" {
					failed++
				}
			}
			if out.data() {
				if err := out.write(e.Stdout, found); err != nil {
					return err
				}
			} else {
				e.printFindings(found)
			}
			if failed > 0 {
				return faultf(exitRefused, "doctor: %s failed", plural(failed, "check"))
			}
			return nil
		},
	}
	e.atFlags(cmd)
	out.flag(cmd, "text", "json", "yaml")
	return cmd
}

func (e *Env) printFindings(found []finding) {
	wide := 0
	for _, f := range found {
		wide = max(wide, len(f.Check))
	}
	for _, f := range found {
		fmt.Fprintf(e.Stdout, "%-8s %-*s %s\n", f.Verdict, wide, f.Check, f.Text)
		if f.Hint != "" {
			fmt.Fprintf(e.Stdout, "         hint: %s\n", f.Hint)
		}
	}
}

func (e *Env) diagnose(ctx context.Context) ([]finding, error) {
	if e.at != "" && e.at != "local" {
		return e.diagnoseAt(ctx, e.at)
	}
	paths, err := e.Paths()
	if err != nil {
		return []finding{{"state", "failed", err.Error(), strings.Join(hintsOf(err), "; ")}}, nil
	}
	checks := []func(context.Context, Paths) finding{
		e.checkState, e.checkSpace, e.checkSocketPath, e.checkServer, e.checkClaims,
		e.checkCgroups, e.checkGPUs, e.checkPython, e.checkBash,
	}
	var found []finding
	for _, check := range checks {
		c, cancel := context.WithTimeout(ctx, checkTime)
		found = append(found, check(c, paths))
		cancel()
	}
	return found, nil
}

// diagnoseAt lets a backend look at its cluster.
func (e *Env) diagnoseAt(ctx context.Context, on string) ([]finding, error) {
	b, err := e.cluster(on, "", e.who())
	if err != nil {
		return nil, err
	}
	d, ok := b.(backend.Doctor)
	if !ok {
		return nil, faultf(exitUsage, "--on %s: has nothing to check", on)
	}
	var found []finding
	for _, x := range d.Diagnose(ctx) {
		found = append(found, finding(x))
	}
	return found, nil
}

func (e *Env) checkState(_ context.Context, p Paths) finding {
	f := finding{Check: "state", Verdict: "ok", Text: e.home(p.State) + " can be written"}
	if err := os.MkdirAll(p.State, 0o700); err != nil {
		return finding{"state", "failed", fmt.Sprintf("%s: cannot be made: %v", p.State, cause(err)), "set MUSTER_HOME to a directory that you may write"}
	}
	probe, err := os.CreateTemp(p.State, ".doctor-*")
	if err != nil {
		return finding{"state", "failed", fmt.Sprintf("%s: cannot be written: %v", p.State, cause(err)), "set MUSTER_HOME to a directory that you may write"}
	}
	_, err = probe.WriteString("muster\n")
	err = errors.Join(err, probe.Sync(), probe.Close(), os.Remove(probe.Name()))
	if err != nil {
		return finding{"state", "failed", fmt.Sprintf("%s: %v", p.State, err), "is the disk full?"}
	}
	return f
}

// lowSpace is where a warning begins: logs and work directories need room.
const lowSpace = 1 << 30

func (e *Env) checkSpace(_ context.Context, p Paths) finding {
	dir := p.State
	for !isDir(dir) && dir != "/" {
		dir = filepath.Dir(dir)
	}
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return finding{"disk", "warning", fmt.Sprintf("%s: %v", dir, err), ""}
	}
	free := int64(st.Bavail) * st.Bsize
	text := size(free) + " free for logs and work directories"
	switch {
	case free < lowSpace/16:
		return finding{"disk", "failed", text, "make room, or set MUSTER_HOME to another file system"}
	case free < lowSpace:
		return finding{"disk", "warning", text, "make room, or set MUSTER_HOME to another file system"}
	}
	return finding{Check: "disk", Verdict: "ok", Text: text}
}

// longSocket is where programs that are not muster begin to have trouble.
const longSocket = 107

func (e *Env) checkSocketPath(_ context.Context, p Paths) finding {
	if len(p.Socket) > longSocket {
		return finding{"socket", "warning", fmt.Sprintf("%s: path of %d bytes, longer than the %d of a socket address", p.Socket, len(p.Socket), longSocket),
			"muster copes; for other programs set MUSTER_SOCKET to a shorter path"}
	}
	return finding{Check: "socket", Verdict: "ok", Text: e.home(p.Socket)}
}

func (e *Env) checkClaims(ctx context.Context, p Paths) finding {
	ledger := e.ledger(p)
	unlock, err := ledger.Lock(ctx)
	if err != nil {
		return finding{"claims", "failed", err.Error(), "an administrator may make /var/lib/muster/claims with mode 1777"}
	}
	defer unlock()
	living, err := ledger.Living()
	if err != nil {
		return finding{"claims", "failed", err.Error(), ""}
	}
	return finding{Check: "claims", Verdict: "ok", Text: plural(len(living), "slot") + " held on this machine, all users together"}
}

func (e *Env) checkCgroups(context.Context, Paths) finding {
	if controllers, err := os.ReadFile("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		words := strings.Join(strings.Fields(string(controllers)), " ")
		if unix.Access("/sys/fs/cgroup", unix.W_OK) == nil {
			return finding{Check: "cgroups", Verdict: "ok", Text: "version 2, writable: " + words}
		}
		return finding{"cgroups", "warning", "version 2, not writable: memory limits are watched, processor sets are set as affinity",
			"a systemd user session with delegation makes them exact"}
	}
	if unix.Access("/sys/fs/cgroup/memory", unix.W_OK) == nil {
		return finding{Check: "cgroups", Verdict: "ok", Text: "version 1, writable"}
	}
	return finding{"cgroups", "warning", "none that can be written: memory limits are watched, processor sets are set as affinity", ""}
}

func (e *Env) checkGPUs(ctx context.Context, _ Paths) finding {
	gpus, err := local.FindGPUs(ctx, local.Settings{})
	switch {
	case err != nil:
		return finding{"gpus", "warning", err.Error(), "run nvidia-smi to see what the driver says"}
	case len(gpus) == 0:
		return finding{Check: "gpus", Verdict: "ok", Text: "none"}
	}
	return finding{Check: "gpus", Verdict: "ok", Text: fmt.Sprintf("%d: %s", len(gpus), strings.Join(gpus, " "))}
}

func (e *Env) checkPython(ctx context.Context, _ Paths) finding {
	for _, name := range []string{"python", "python3"} {
		path, err := e.lookPath(name)
		if err != nil {
			continue
		}
		version, err := exec.CommandContext(ctx, path, "--version").CombinedOutput()
		if err != nil {
			return finding{"python", "warning", fmt.Sprintf("%s: does not run: %v", path, err), "name another one: --python PATH"}
		}
		text := path + ", " + strings.TrimSpace(string(version))
		if name == "python3" {
			return finding{"python", "warning", text + "; there is no \"python\"", "write python3 in commands, or use --python DIRECTORY of a virtual environment"}
		}
		return finding{Check: "python", Verdict: "ok", Text: text}
	}
	return finding{"python", "warning", "none in PATH", "jobs in Python need one: --python PATH"}
}

func (e *Env) checkBash(context.Context, Paths) finding {
	path, err := e.lookPath("bash")
	if err != nil {
		return finding{"bash", "failed", "none in PATH", "a command that is written as a string is run by bash -c"}
	}
	return finding{Check: "bash", Verdict: "ok", Text: path}
}

// lookPath finds a program in the PATH that jobs will get, which is ours.
func (e *Env) lookPath(name string) (string, error) {
	for dir := range strings.SplitSeq(e.Getenv("PATH"), ":") {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s: %w", name, exec.ErrNotFound)
}
