package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-project/muster/api"
	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/backend/local"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

// assembly is a job on its way from files and flags to a plan.
type assembly struct {
	env      *Env
	file     string // as it was written; empty without one
	dir      string // where the job's relative paths start
	command  []string
	resolved *spec.Resolved
	client   *api.Client
	backend  backend.Backend
	plan     *plan.Plan
}

// commandLine is where the words after -- are written.
const commandLine = "command line"

// maxFile bounds what is read of a job file: a wrong argument may be anything.
const maxFile = 8 << 20

// resolve reads all layers of the job that a command line means.
func (e *Env) resolve(cmd *cobra.Command, f *jobFlags, args []string) (*assembly, error) {
	if err := e.dirError(); err != nil {
		return nil, err
	}
	file, command, err := e.fileOrCommand(cmd, args)
	if err != nil {
		return nil, err
	}
	a := &assembly{env: e, file: file, dir: e.Dir, command: command}
	stack := &spec.Stack{}
	if err := e.settingsFiles(stack); err != nil {
		return nil, err
	}
	if file != "" {
		data, name, err := e.readJobFile(file)
		if err != nil {
			return nil, err
		}
		if file != "-" {
			a.dir = filepath.Dir(e.abs(file))
		}
		stack.Add(spec.JobFile, name, data)
	}
	if err := f.apply(e, cmd.Flags(), stack); err != nil {
		return nil, err
	}
	if len(command) > 0 {
		stack.SetValue(commandLine, "command", command)
	}
	if a.resolved, err = stack.Resolve(e.user()); err != nil {
		return nil, e.specFault(err)
	}
	a.fill()
	return a, nil
}

// settingsFiles adds the site's and the user's file, as far as they are there.
func (e *Env) settingsFiles(stack *spec.Stack) error {
	paths, err := e.Paths()
	if err != nil {
		return err
	}
	for _, l := range []struct {
		rank spec.Rank
		path string
	}{{spec.SiteFile, paths.Site}, {spec.UserFile, paths.User}} {
		if l.path == "" {
			continue
		}
		data, err := readFile(l.path)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) && l.rank == spec.SiteFile {
			continue
		}
		if err != nil {
			return err
		}
		stack.Add(l.rank, e.relative(l.path), data)
	}
	return nil
}

func (e *Env) readJobFile(file string) (data []byte, name string, err error) {
	if file == "-" {
		data, err = io.ReadAll(io.LimitReader(e.Stdin, maxFile))
		return data, "standard input", err
	}
	data, err = readFile(e.abs(file))
	if errors.Is(err, fs.ErrNotExist) {
		f := faultf(exitJobFile, "%s: no such file", file)
		if near := spec.Suggest(filepath.Base(file), yamlFiles(filepath.Dir(e.abs(file)))); near != "" {
			f.hint("did you mean %s?", filepath.Join(filepath.Dir(file), near))
		}
		return nil, file, f
	}
	var f *Fault
	if errors.As(err, &f) {
		return nil, file, faultf(exitJobFile, "%s: %w", file, errors.Unwrap(f.Err))
	}
	return data, file, err
}

// readFile reads a file that a person named.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, faultf(exitJobFile, "%s: %w", path, cause(err))
	case info.IsDir():
		return nil, faultf(exitJobFile, "%s: %w", path, errIsDir)
	}
	in, err := os.Open(path)
	if err != nil {
		return nil, faultf(exitJobFile, "%s: %w", path, cause(err))
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, maxFile))
	if err != nil {
		return nil, faultf(exitJobFile, "%s: %w", path, cause(err))
	}
	return data, nil
}

var errIsDir = errors.New("is a directory, a file is expected")

func yamlFiles(dir string) []string {
	entries, _ := os.ReadDir(dir)
	var names []string
	for _, entry := range entries {
		if looksLikeJobFile(entry.Name()) {
			names = append(names, entry.Name())
		}
	}
	return names
}

// fill puts in what only a command line knows: a name for people, the default
// work directory, and paths in place of relative ones.
func (a *assembly) fill() {
	job := a.resolved.Job
	if job.Name == "" {
		job.Name = a.defaultName()
	}
	if job.Workdir == (spec.Workdir{}) {
		// Where every node sees this directory, tasks run in it as the command
		// would without muster; else it is sent.
		job.Workdir = spec.Workdir{Path: a.dir, InPlace: true}
	}
	python := &job.Python
	for _, p := range []*string{&python.Interpreter, &python.Venv, &python.Requirements, &python.Archive, &python.Conda} {
		bare := p == &python.Interpreter || p == &python.Conda
		if *p != "" && !filepath.IsAbs(*p) && !strings.Contains(*p, "://") && (!bare || strings.ContainsRune(*p, '/')) {
			*p = filepath.Join(a.dir, *p)
		}
	}
}

// defaultName is the job file's name, or that of the script in the command.
func (a *assembly) defaultName() string {
	name := ""
	if a.file != "" && a.file != "-" {
		name = a.file
	}
	for _, word := range a.command {
		if name == "" || strings.HasSuffix(word, ".py") && a.file == "" {
			name = word
		}
		if strings.HasSuffix(word, ".py") {
			break
		}
	}
	name = filepath.Base(name)
	return strings.TrimSuffix(name, filepath.Ext(name))
}

// build makes the plan and tells everything against it at once: what is not
// there on this machine, what the framework dislikes, what the backend refuses.
func (a *assembly) build(ctx context.Context) error {
	job := a.resolved.Job
	var err error
	if a.backend, err = a.backendFor(job.On); err != nil {
		return err
	}
	var missing []error
	var prep plan.Preparer
	if f := frameworkOf(job.Framework); f != nil {
		prep = f
	} else {
		missing = append(missing, a.fault(exitJobFile, "framework", strconv.Quote(job.Framework)+" is not known", frameworkHint(job.Framework)))
	}
	caps, err := a.backend.Capabilities(ctx)
	if err != nil {
		return refused(err)
	}
	if !caps.SharedFiles && job.Workdir.InPlace && a.written("workdir") == "" {
		job.Workdir.InPlace = false
	}
	var id [plan.IDBytes]byte
	rand.Read(id[:]) // never fails
	p, err := plan.Build(job, prep, caps, plan.Options{ID: plan.NewID(id), User: a.env.user(), Dir: a.dir})
	missing = append(missing, a.lookAround()...)
	var refusal *plan.Refusal
	if errors.As(err, &refusal) {
		return errors.Join(append(missing, a.faults(exitJobFile, refusal.Findings)...)...)
	}
	if err != nil {
		return errors.Join(append(missing, fault(exitJobFile, err))...)
	}
	a.plan = p
	findings, err := a.backend.Check(ctx, p)
	if err != nil {
		return errors.Join(append(missing, refused(err))...)
	}
	for _, f := range findings {
		if f.Warning {
			p.Warnings = append(p.Warnings, plan.Finding{Path: f.Path, Problem: f.Problem}.String())
		}
	}
	findings = slices.DeleteFunc(findings, func(f plan.Finding) bool { return f.Warning })
	if problems := append(missing, a.faults(exitRefused, findings)...); len(problems) > 0 {
		return errors.Join(problems...)
	}
	return nil
}

// faults gives findings their places in the job file.
func (a *assembly) faults(code int, findings []plan.Finding) []error {
	var out []error
	for _, f := range findings {
		out = append(out, a.fault(code, f.Path, f.Problem, f.Hint))
	}
	return out
}

func (a *assembly) fault(code int, path, problem, hint string) error {
	text, origin := problem, a.written(path)
	if path != "" && origin != commandLine {
		text = path + ": " + text
	}
	if origin != "" && origin != commandLine {
		text = origin + ": " + text
	}
	f := faultf(code, "%s", text)
	if hint != "" {
		f.hint("%s", hint)
	}
	return f
}

// written says where a value was written: itself, what is above it, or, for
// what a role took over, the same key at the top level. Built-in values were
// written nowhere.
func (a *assembly) written(path string) string {
	for _, candidate := range []string{path, withoutRole(path)} {
		for candidate != "" {
			for _, v := range a.resolved.Values {
				if (v.Path == candidate || strings.HasPrefix(v.Path, candidate+".") || strings.HasPrefix(v.Path, candidate+"[")) && v.Origin != "built in" {
					return v.Origin
				}
			}
			candidate = candidate[:max(0, strings.LastIndexAny(candidate, ".["))]
			if strings.HasPrefix(candidate, "roles") && strings.Count(candidate, ".") < 2 {
				break // roles.NAME stands in the first line of anything in it
			}
		}
	}
	return ""
}

func withoutRole(path string) string {
	parts := strings.SplitN(path, ".", 3)
	if len(parts) == 3 && parts[0] == "roles" {
		return parts[2]
	}
	return ""
}

// specFault gives the problems of a job file the exit status of what they stand
// in: flags or files.
func (e *Env) specFault(err error) error {
	var list spec.Problems
	if !errors.As(err, &list) {
		return fault(exitJobFile, err)
	}
	var out []error
	for _, p := range list {
		code := exitJobFile
		if strings.HasPrefix(p.File, "--") {
			code = exitUsage
		}
		hint := p.Hint
		p.Hint = ""
		f := fault(code, p)
		if hint != "" {
			f.hint("%s", hint)
		}
		out = append(out, f)
	}
	return errors.Join(out...)
}

// user is the name of who runs this command.
func (e *Env) user() string {
	id := strconv.Itoa(os.Getuid())
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return id
}

// backendFor finds the backend of an "on:".
func (a *assembly) backendFor(on string) (backend.Backend, error) {
	name, site, _ := strings.Cut(on, ":")
	if name != "" && !slices.Contains(backends, name) {
		f := faultf(exitRefused, "on: %q is not a backend of this muster", name)
		if near := spec.Suggest(name, backends); near != "" {
			return nil, f.hint("did you mean %s?", near)
		}
		return nil, f.hint("it has: %s", strings.Join(backends, ", "))
	}
	if site != "" {
		return nil, faultf(exitRefused, "on: %s has no sites, so no %q", name, site).hint("write on: %s", name)
	}
	return local.New(a.client), nil
}
