package plan

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/muster-project/muster/spec"
)

// Preparer is the part of a framework that Build asks.
type Preparer interface {
	Name() string
	Prepare(d *Draft)
}

// Options is what a plan takes from whoever submits the job.
type Options struct {
	ID     string  // muster's own id; empty while nothing is submitted yet
	User   string  // who submits
	Dir    string  // where relative paths of the job file start; empty leaves them as they are
	Timing *Timing // nil for DefaultTiming
}

// What is used where neither job file nor framework says otherwise.
const (
	defaultBackend = "local"
	defaultGrace   = spec.Duration(30 * time.Second)
	defaultLogSize = spec.Size(256 << 20)
	defaultKeep    = 3
)

// Build turns a job that spec has checked into a plan. A nil prep plans without a framework.
// The error is a *Refusal with every reason at once; the plan is nil then.
//
// Memory that nobody wrote stays 0: no limit. Backends that need a number put
// their own in its place and say so.
func Build(job *spec.Job, prep Preparer, caps Capabilities, o Options) (*Plan, error) {
	p := &Plan{
		Version: PlanVersion, ID: o.ID, Name: job.Name, User: o.User,
		Framework: job.Framework, Queue: job.Queue, Priority: job.Priority,
		Python: Python{Python: job.Python}, Timeout: job.Timeout, Timing: DefaultTiming(), Logs: job.Logs, ACLs: job.ACLs,
	}
	if prep != nil {
		p.Framework = prep.Name()
	}
	p.Backend, p.Site, _ = strings.Cut(job.On, ":")
	if p.Backend == "" {
		p.Backend = defaultBackend
	}
	if o.Timing != nil {
		p.Timing = *o.Timing
	}
	if job.Lease > 0 {
		p.Timing.Lease = job.Lease
	}
	if p.Timing.Lease == 0 {
		p.Timing.Lease = spec.Duration(caps.Lease)
	}
	if p.Logs.MaxSize == 0 {
		p.Logs.MaxSize = defaultLogSize
	}
	if p.Logs.Keep == 0 {
		p.Logs.Keep = defaultKeep
	}

	d := &Draft{Plan: p, Written: map[string]map[string]bool{}}
	fillRoles(d, job)
	fillWork(d, job, o.Dir)
	fillNative(d, job)
	byName(d)
	order(p) // what ranks need is a matter of their stage
	if prep != nil {
		prep.Prepare(d)
	}
	settleFailure(d)
	order(p) // with the roles that the framework added
	checkEnd(d)
	checkDevices(d)
	checkPlace(d, caps)
	if err := Refuse(d.Findings); err != nil {
		return nil, err
	}
	for _, f := range d.Findings {
		p.Warnings = append(p.Warnings, Finding{Path: f.Path, Problem: f.Problem}.String())
	}
	return p, nil
}

func (d *Draft) refuse(path, hint, format string, args ...any) {
	d.Report(Finding{Path: path, Problem: fmt.Sprintf(format, args...), Hint: hint})
}

func (d *Draft) warn(path, format string, args ...any) {
	d.Report(Finding{Path: path, Problem: fmt.Sprintf(format, args...), Warning: true})
}

// fillWork resolves what tasks find in their work directory. Content addresses
// come later, when somebody with a disk stages the files.
func fillWork(d *Draft, job *spec.Job, dir string) {
	w := &d.Plan.Work
	w.InPlace = job.Workdir.InPlace
	if job.Workdir.Path != "" {
		w.Source = resolve(dir, job.Workdir.Path)
	}
	for _, f := range job.Files {
		name := f.Name
		if name == "" {
			name = path.Base(f.Source)
		}
		w.Files = append(w.Files, File{Source: resolve(dir, f.Source), Name: name, Unpack: f.Archive})
	}
}

// resolve makes a relative path absolute; addresses such as hdfs:///x stay.
func resolve(dir, p string) string {
	if dir == "" || path.IsAbs(p) || strings.Contains(p, "://") {
		return p
	}
	return path.Join(dir, p)
}

// fillNative keeps the settings meant for the plan's backend. Settings for
// another one would be lost in silence, so they are refused unless their
// author marked them as optional.
func fillNative(d *Draft, job *spec.Job) {
	p := d.Plan
	for _, name := range slices.Sorted(maps.Keys(job.Native)) {
		value := job.Native[name]
		if name == p.Backend {
			p.Native = map[string]any{name: value}
			continue
		}
		if m, ok := value.(map[string]any); ok && m["optional"] == true {
			continue
		}
		d.refuse("native."+name, "remove it, or write optional: true in it",
			"settings for %q, but the job runs on %q", name, p.Backend)
	}
}

// checkPlace refuses what the backend cannot do at all.
func checkPlace(d *Draft, caps Capabilities) {
	p := d.Plan
	if p.Work.InPlace && !caps.SharedFiles {
		d.refuse("workdir.in_place", "leave it out: each task then gets a copy",
			"nodes of %q do not see the directory %s", p.Backend, p.Work.Source)
	}
	for _, r := range p.Roles {
		if r.Image != "" && !caps.Images {
			d.refuse("roles."+r.Name+".image", "leave it out, or choose a backend with containers by on:",
				"%q cannot run container images yet", p.Backend)
		}
		if r.Instances.Elastic() {
			d.warn("roles."+r.Name+".instances", "%d..%d: starts with any number in this range that the cluster grants; "+
				"the number of ranks may change from epoch to epoch", r.Instances.Min, r.Instances.Max)
		}
	}
}
