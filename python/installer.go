package python

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// lastLines is how much of an installer's own words a failure shows.
const lastLines = 20

// Failure is an installer that failed.
type Failure struct {
	Argv  []string // as far as people need it
	Err   error
	Lines []string // the last ones that it printed
}

func (f *Failure) Error() string {
	return fmt.Sprintf("%s: %v; it said:\n%s", strings.Join(f.Argv, " "), f.Err, strings.Join(f.Lines, "\n"))
}

func (f *Failure) Unwrap() error { return f.Err }

// settled are variables that would lead an installer elsewhere, or let it ask.
var settled = map[string]string{
	"PYTHONHOME": "", "PYTHONPATH": "", "VIRTUAL_ENV": "", "CONDA_PREFIX": "", "UV_PYTHON": "", "UV_SYSTEM_PYTHON": "", "UV_PROJECT_ENVIRONMENT": "",
	"PIP_TARGET": "", "PIP_PREFIX": "", "PIP_USER": "", "PIP_ROOT": "", "PIP_REQUIRE_VIRTUALENV": "", "PIP_PYTHON": "", "PIP_REQUIREMENT": "",
	"PIP_NO_INPUT": "1", "PIP_PROGRESS_BAR": "off", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_QUIET": "", "PIP_VERBOSE": "",
	"UV_NO_PROGRESS": "1", "UV_QUIET": "", "NO_COLOR": "1", "FORCE_COLOR": "", "PYTHONUNBUFFERED": "1", "PYTHONIOENCODING": "utf-8",
}

// installing is the environment of an installer: the user's own, with its
// indexes, proxies and passwords.
func installing(environ []string) []string {
	var out []string
	for _, v := range environ {
		name, _, _ := strings.Cut(v, "=")
		if _, ours := settled[name]; !ours {
			out = append(out, v)
		}
	}
	for name, value := range settled {
		if value != "" {
			out = append(out, name+"="+value)
		}
	}
	slices.Sort(out)
	return out
}

// run runs an installer in dir to its end and tells what it does. When ctx ends
// first, its whole process group does.
func (w *work) run(ctx context.Context, dir string, argv ...string) error {
	out, in, err := os.Pipe()
	if err != nil {
		return err
	}
	defer out.Close()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, installing(w.Environ), in, in
	// It holds our lock, too: if we are killed, nobody builds here before it ends.
	cmd.ExtraFiles = []*os.File{w.lock}
	cmd.SysProcAttr = apart()
	cmd.Cancel = func() error { return killGroup(cmd) }
	if err := errors.Join(cmd.Start(), in.Close()); err != nil {
		return fmt.Errorf("%s: %w", argv[0], cause(err))
	}
	heard := make(chan []string, 1)
	go func() { heard <- w.hear(out) }()
	err = cmd.Wait()
	_ = killGroup(cmd) // what it left behind would hold the pipe
	lines := <-heard
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return &Failure{Argv: brief(argv), Err: err, Lines: lines}
	}
	return nil
}

// hear reads an installer's output and gives its last lines.
func (w *work) hear(out *os.File) []string {
	var last []string
	var f follow
	in := bufio.NewScanner(out)
	in.Buffer(nil, 1<<20)
	in.Split(scanLines)
	for in.Scan() {
		line := strings.TrimRight(in.Text(), " \t")
		if line == "" {
			continue
		}
		if last = append(last, line); len(last) > lastLines {
			last = last[1:]
		}
		if text := f.line(line); text != "" && w.Tell != nil {
			w.Tell(Step{Text: text, Passing: true})
		}
	}
	return last
}

// scanLines ends a line at \n and at \r: progress is drawn over itself.
func scanLines(data []byte, end bool) (int, []byte, error) {
	if i := bytes.IndexAny(data, "\r\n"); i >= 0 {
		return i + 1, data[:i], nil
	}
	if end && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}

// brief leaves out of a command line what nobody wants to read.
func brief(argv []string) []string {
	name := argv[0][strings.LastIndexByte(argv[0], '/')+1:]
	out := []string{name}
	for _, a := range argv[1:] {
		if !strings.HasPrefix(a, "-") && !strings.Contains(a, "/") && len(out) < 4 {
			out = append(out, a)
		}
	}
	return out
}

// apart gives a program a process group of its own, which Ctrl-C does not reach
// and which ends as a whole.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func killGroup(cmd *exec.Cmd) error {
	err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

// uvTime bounds the question whether uv works.
const uvTime = 20 * time.Second

// uv finds a uv that works; empty: there is none. A shim for a program that is
// not installed is in PATH all the same.
func uv(ctx context.Context, environ []string) string {
	ctx, cancel := context.WithTimeout(ctx, uvTime)
	defer cancel()
	for _, path := range lookPath("uv", environ) {
		if out, err := output(ctx, environ, path, "--version"); err == nil && strings.HasPrefix(string(out), "uv ") {
			return path
		}
	}
	return ""
}
