package cli

import (
	"context"
	"crypto/rand"
	"errors"
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
	"github.com/muster-project/muster/spec/command"
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
	shared   bool // nodes see this machine's files
	plan     *plan.Plan
	notes    []string // what was taken over from a launcher's line
	warnings []string // of them, those that go with the plan
}

// commandLine is where the words after -- are written.
const commandLine = "command line"

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
	if a.resolved, err = stack.Resolve(e.account()); err != nil {
		return nil, e.specFault(err)
	}
	if err := a.readLines(stack); err != nil {
		return nil, err
	}
	a.fill()
	return a, nil
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
		// would without muster; else it is sent. Files that are to come along would
		// litter it, so then each task gets a copy, too.
		job.Workdir = spec.Workdir{Path: a.dir, InPlace: len(job.Files) == 0}
	}
	python := &job.Python
	for _, p := range []*string{&python.Interpreter, &python.Venv, &python.Requirements, &python.Archive, &python.Conda} {
		bare := p == &python.Interpreter || p == &python.Conda
		if p == &python.Interpreter && python.Archive != "" {
			continue // it lies in the archive
		}
		if *p != "" && !filepath.IsAbs(*p) && !strings.Contains(*p, "://") && (!bare || strings.ContainsRune(*p, '/')) {
			*p = filepath.Join(a.dir, *p)
		}
	}
}

// defaultName is the job file's name, or that of the script in the command.
func (a *assembly) defaultName() string {
	name := a.file
	if name == "-" {
		name = "stdin"
	}
	words := a.command
	if at := command.Program(command.Literals(words...)); at > 0 && at < len(words) {
		words = words[at:] // "timeout 60 mpirun" is a job of mpirun
	}
	for _, word := range words {
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
	if a.backend, err = a.backendFor(ctx, job.On); err != nil {
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
	a.shared = caps.SharedFiles
	if !caps.SharedFiles && job.Workdir.InPlace && a.written("workdir") == "" {
		job.Workdir.InPlace = false
	}
	var id [plan.IDBytes]byte
	rand.Read(id[:]) // never fails
	p, err := plan.Build(job, prep, caps, plan.Options{ID: plan.NewID(id), User: a.owner(), Dir: a.dir})
	missing = append(missing, a.lookAround()...)
	if refusal, ok := errors.AsType[*plan.Refusal](err); ok {
		return errors.Join(append(missing, a.faults(exitJobFile, refusal.Findings)...)...)
	}
	if err != nil {
		return errors.Join(append(missing, fault(exitJobFile, err))...)
	}
	a.plan = p
	p.Warnings = append(p.Warnings, a.warnings...)
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

// owner is whose job it will be.
func (a *assembly) owner() string {
	return a.env.ownerOf(a.backend)
}

// account is the name of who runs this command.
func (e *Env) account() string {
	id := strconv.Itoa(os.Getuid())
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return id
}

// backendFor finds the backend of an "on:". Only this machine's own needs a
// server, which is started when none answers.
func (a *assembly) backendFor(ctx context.Context, on string) (backend.Backend, error) {
	name, site, _ := strings.Cut(on, ":")
	switch {
	case name == "" || name == "local":
		if site != "" {
			return nil, faultf(exitRefused, "on: local has no sites, so no %q", site).hint("write on: local")
		}
		var err error
		if a.client, err = a.env.client(ctx); err != nil {
			return nil, err
		}
		return local.New(a.client), nil
	case slices.Contains(backends, name):
		return a.env.cluster(on, "", a.env.who())
	}
	f := faultf(exitRefused, "on: %q is not a backend of this muster", name)
	if near := spec.Suggest(name, backends); near != "" {
		return nil, f.hint("did you mean %s?", near)
	}
	return nil, f.hint("it has: %s", strings.Join(backends, ", "))
}
