package process

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// refusal is why a program did not start, with the status that a shell gives.
type refusal struct {
	text   string
	hint   string
	status int
}

func (r refusal) Error() string {
	if r.hint == "" {
		return r.text
	}
	return r.text + "\nhint: " + r.hint
}

// Statuses of a shell for a program that it cannot start.
const (
	cannotRun = 126
	notFound  = 127
)

// standardPath is searched for programs where the environment has no PATH.
const standardPath = "/usr/local/bin:/usr/bin:/bin"

// find is the file of a process's program, by the PATH of its own environment.
func find(p Proc) (string, error) {
	if len(p.Argv) == 0 || p.Argv[0] == "" {
		return "", refusal{text: "command: is empty", status: notFound}
	}
	if p.Dir != "" {
		if err := enter(p.Dir); err != nil {
			return "", err
		}
	}
	program := p.Argv[0]
	if strings.Contains(program, "/") {
		return program, check(program, inside(p.Dir, program))
	}
	path := standardPath
	for _, e := range p.Env {
		if v, ok := strings.CutPrefix(e, "PATH="); ok {
			path = v
		}
	}
	var denied error
	for _, dir := range filepath.SplitList(path) {
		if dir == "" {
			dir = "."
		}
		file := filepath.Join(dir, program)
		if !strings.HasPrefix(file, "/") {
			file = "./" + file
		}
		err := check(program, inside(p.Dir, file))
		var r refusal
		switch {
		case err == nil:
			return file, nil
		case errors.As(err, &r) && r.status == cannotRun && denied == nil:
			denied = err
		}
	}
	if denied != nil {
		return "", denied
	}
	return "", refusal{
		text:   fmt.Sprintf("%s: no such program in PATH: %s", program, path),
		hint:   suggest(p, program),
		status: notFound,
	}
}

// suggest covers the commonest slip: the script lies right there.
func suggest(p Proc, program string) string {
	if info, err := os.Stat(inside(p.Dir, program)); err == nil && info.Mode().IsRegular() {
		return fmt.Sprintf("a file of that name is in the work directory: ./%s runs it", program)
	}
	return ""
}

func inside(dir, file string) string {
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(dir, file)
}

func enter(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return refusal{text: dir + ": work directory does not exist", status: cannotRun}
	case err != nil:
		return refusal{text: fmt.Sprintf("%s: work directory cannot be entered: %v", dir, cause(err)), status: cannotRun}
	case !info.IsDir():
		return refusal{text: dir + ": work directory is not a directory", status: cannotRun}
	case unix.Access(dir, unix.X_OK) != nil:
		return refusal{text: dir + ": work directory cannot be entered: permission denied", status: cannotRun}
	}
	return nil
}

func check(program, file string) error {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return refusal{text: program + ": no such file", status: notFound}
	case err != nil:
		return refusal{text: fmt.Sprintf("%s: cannot run: %v", program, cause(err)), status: cannotRun}
	case info.IsDir():
		return refusal{text: program + ": is a directory, not a program", status: cannotRun}
	case unix.Access(file, unix.X_OK) != nil:
		return refusal{
			text:   program + ": is not executable",
			hint:   fmt.Sprintf("chmod +x %s, or name its interpreter: python %s", program, program),
			status: cannotRun,
		}
	}
	return nil
}

// explain turns the kernel's answer to exec into a sentence.
func explain(p Proc, path string, err error) error {
	file := inside(p.Dir, path)
	r := refusal{text: fmt.Sprintf("%s: cannot run: %v", p.Argv[0], err), status: cannotRun}
	switch {
	case errors.Is(err, syscall.ENOENT):
		interpreter := shebang(file)
		if interpreter == "" {
			r.text = p.Argv[0] + ": cannot run: its loader is missing on this machine"
			break
		}
		r.text = fmt.Sprintf("%s: its first line asks for %q: no such program", p.Argv[0], interpreter)
		if strings.HasSuffix(interpreter, "\r") {
			r.hint = "the file has DOS line ends: sed -i 's/\\r$//' " + p.Argv[0]
		}
	case errors.Is(err, syscall.EACCES):
		if interpreter := shebang(file); interpreter != "" {
			r.text = fmt.Sprintf("%s: its first line asks for %q: not executable", p.Argv[0], interpreter)
		}
	case errors.Is(err, syscall.ENOEXEC):
		r.text = p.Argv[0] + ": has no #! line and is no program for this machine"
	case errors.Is(err, syscall.E2BIG):
		r.text = fmt.Sprintf("%s: arguments and environment are too long: %d bytes", p.Argv[0], size(p))
	case errors.Is(err, syscall.EINVAL):
		r.text = p.Argv[0] + ": an argument or environment variable contains a NUL byte"
	}
	return r
}

func size(p Proc) int {
	n := 0
	for _, s := range append(append([]string{}, p.Argv...), p.Env...) {
		n += len(s) + 1
	}
	return n
}

// shebang is the interpreter that a script's first line names, or empty. The
// kernel reads no more than 256 bytes of it either.
func shebang(file string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	line, _ := bufio.NewReader(io.LimitReader(f, 256)).ReadString('\n')
	rest, ok := strings.CutPrefix(line, "#!")
	if !ok {
		return ""
	}
	word, _, _ := strings.Cut(strings.Trim(rest, " \t\n"), " ")
	return word
}

func cause(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}
