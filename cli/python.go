package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/python"
)

// passingEvery is how often a line that passes is shown off a terminal.
const passingEvery = 15 * time.Second

// shelf is this user's Python environments on this machine, and done takes its
// progress off the screen. Who waits for us reads the job's name.
func (e *Env) shelf(p *plan.Plan) (s *python.Shelf, done func(), err error) {
	paths, err := e.Paths()
	if err != nil {
		return nil, nil, err
	}
	screen := e.screen()
	shown := e.Now()
	tell := func(s python.Step) {
		switch {
		case !s.Passing:
			screen.say("python: %s", s.Text)
			shown = e.Now()
		case screen.live:
			screen.draw([]string{"muster: python: " + s.Text})
		case e.Now().Sub(shown) >= passingEvery:
			screen.say("python: %s", s.Text)
			shown = e.Now()
		}
	}
	who := fmt.Sprintf("process %d (job %s)", os.Getpid(), p.Name)
	return &python.Shelf{Dir: filepath.Join(paths.State, "python"), Environ: e.Environ, Tell: tell, Who: who}, screen.clear, nil
}

// stagePython makes what tasks need of the job's Python before anything of it is
// submitted: no slot is held meanwhile, and who submitted reads what fails. Where
// every node sees this machine's files it is the environment itself, else what
// nodes make it of.
func (e *Env) stagePython(ctx context.Context, a *assembly, to store) error {
	p := &a.plan.Python
	key, named := "python.requirements", p.Requirements
	if p.Archive != "" {
		key, named = "python.archive", p.Archive
	}
	if named == "" || p.File().Remote() {
		return nil
	}
	shelf, done, err := e.shelf(a.plan)
	if err != nil {
		return err
	}
	defer done()
	switch {
	case p.Archive != "" && a.shared:
		p.Env, err = e.unpackPython(ctx, shelf, p)
	case p.Archive != "":
		p.Blob, err = upload(ctx, opener(p.Archive), to)
	default:
		err = e.buildPython(ctx, shelf, a, to)
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, os.ErrPermission):
		return fault(exitRefused, err)
	}
	text := strings.ReplaceAll(err.Error(), named, e.relative(named))
	return a.fault(exitJobFile, key, strings.TrimPrefix(text, key+": "), "")
}

// buildPython makes the environment of a recipe, or the archive of its wheels.
func (e *Env) buildPython(ctx context.Context, shelf *python.Shelf, a *assembly, to store) error {
	p := &a.plan.Python
	i, err := e.buildInterpreter(ctx, a)
	if err != nil {
		return err
	}
	r, err := python.Read(ctx, p.Requirements, i, e.Environ)
	if err != nil {
		return err
	}
	if a.shared {
		p.Env, err = shelf.Build(ctx, r, i)
		return err
	}
	file, err := shelf.Wheels(ctx, r, i)
	if err == nil {
		p.Blob, err = upload(ctx, opener(file), to)
	}
	return err
}

// buildInterpreter is the one that the environment is for. One that is given as
// a file of the nodes need not be here: then this machine's of the same name
// stands in, and nodes tell if it does not fit.
func (e *Env) buildInterpreter(ctx context.Context, a *assembly) (python.Interpreter, error) {
	wanted := a.plan.Python.Interpreter
	if !a.shared && strings.Contains(wanted, "/") {
		if _, err := os.Stat(wanted); err != nil {
			wanted = filepath.Base(wanted)
		}
	}
	return python.Find(ctx, wanted, "", e.Environ)
}

func (e *Env) unpackPython(ctx context.Context, shelf *python.Shelf, p *plan.Python) (string, error) {
	in, err := os.Open(p.Archive)
	if err != nil {
		return "", fmt.Errorf("%s: %w", p.Archive, cause(err))
	}
	defer in.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, in); err != nil {
		return "", fmt.Errorf("%s: %w", p.Archive, cause(err))
	}
	return shelf.Unpack(ctx, hex.EncodeToString(hash.Sum(nil)), p.Interpreter, opener(p.Archive))
}

func opener(path string) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return os.Open(path) }
}

// wantProgram wants what tasks of this machine can start: a file, or a name in the
// PATH that they will have.
func (e *Env) wantProgram(word string) error {
	if strings.Contains(word, "/") {
		info, err := os.Stat(word)
		if err == nil && (info.IsDir() || info.Mode()&0o111 == 0) {
			return errors.New("is not executable")
		}
		return cause(err)
	}
	for dir := range strings.SplitSeq(e.Getenv("PATH"), ":") {
		if info, err := os.Stat(filepath.Join(dir, word)); filepath.IsAbs(dir) && err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return nil
		}
	}
	return errors.New("none in PATH")
}

// lookPython tells what is wrong with the Python that a job names, as far as this
// machine can tell.
func (a *assembly) lookPython(complain func(path, text, hint string)) {
	p := a.resolved.Job.Python
	say := func(key string, err error) {
		text, hint, _ := strings.Cut(err.Error(), "\nhint: ")
		complain(key, strings.TrimPrefix(text, key+": "), hint)
	}
	if a.shared && p.Interpreter != "" && p.Archive == "" {
		if err := a.env.wantProgram(p.Interpreter); err != nil {
			complain("python.interpreter", fmt.Sprintf("%s: %v", a.env.relative(p.Interpreter), err), "")
		}
	}
	if p.Requirements != "" {
		if err := wantFile(p.Requirements); err != nil {
			complain("python.requirements", fmt.Sprintf("%s: %v", a.env.relative(p.Requirements), err), "")
		} else if err := python.Known(p.Requirements); err != nil {
			say("python.requirements", err)
		}
	}
	if p.Archive != "" && !strings.Contains(p.Archive, "://") {
		if err := wantArchive(p.Archive); err != nil {
			say("python.archive", fmt.Errorf("%s: %w", a.env.relative(p.Archive), err))
		}
	}
	if p.Venv != "" {
		if err := wantFile(filepath.Join(p.Venv, "bin", "python")); err != nil {
			complain("python.venv", fmt.Sprintf("%s: no virtual environment: no bin/python in it", a.env.relative(p.Venv)),
				"make one: python3 -m venv "+a.env.relative(p.Venv))
		}
	}
	if p.Conda != "" && a.shared {
		if _, err := python.Conda(p.Conda, a.env.Environ); err != nil {
			say("python.conda", err)
		}
	}
}
