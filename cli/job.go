package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-project/muster/api"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

// job is one job of this user's state directory.
type job struct {
	ID        string
	Dir       string
	Plan      *plan.Plan
	Submitted time.Time
	remote    *remote // nil: on this machine
	served    *served // another user's on this machine, as its server shows it
}

// files is the directory of this machine below which the job's logs lie.
func (j job) files() string {
	if j.remote != nil {
		return j.remote.dir
	}
	return j.Dir
}

// jobs lists this user's jobs, newest first. A directory that cannot be read
// does not hide the others; what is wrong comes with the list.
func (e *Env) jobs(ctx context.Context) ([]job, error) {
	if name, _, _ := strings.Cut(e.at, ":"); name != "" && name != "local" {
		return e.listed(ctx, e.at)
	}
	roots, err := e.jobRoots(ctx)
	if err != nil {
		return nil, err
	}
	var all []job
	var problems []error
	for _, root := range roots {
		jobs, err := jobsBelow(root)
		all = append(all, jobs...)
		problems = append(problems, err)
	}
	far, err := e.remoteJobs()
	all = append(all, far...)
	slices.SortFunc(all, newestFirst)
	return all, errors.Join(append(problems, err)...)
}

func newestFirst(a, b job) int {
	return cmp.Or(b.Submitted.Compare(a.Submitted), strings.Compare(b.ID, a.ID))
}

// jobRoots are the directories in which this user's jobs lie: their own state
// directory and, where an administrator's server takes them, their part of its.
func (e *Env) jobRoots(ctx context.Context) ([]string, error) {
	paths, err := e.Paths()
	if err != nil {
		return nil, err
	}
	roots := []string{paths.Jobs()}
	if e.sharedServes() {
		return append(roots, filepath.Join(sharedState, "users", strconv.Itoa(os.Getuid()), "jobs")), nil
	}
	if e.Getenv("MUSTER_SOCKET") == "" {
		return roots, nil
	}
	c := api.NewClient(paths.Socket, nil)
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if h, err := c.Hello(ctx); err == nil && h.Shared { // without a server there is nothing to ask
		roots = append(roots, filepath.Join(h.State, "jobs"))
	}
	return roots, nil
}

func jobsBelow(root string) ([]job, error) {
	entries, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault(exitRefused, fmt.Errorf("%s: jobs cannot be listed: %w", root, cause(err)))
	}
	var all []job
	var problems []error
	for _, entry := range entries {
		if !entry.IsDir() || strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		j, err := openJob(filepath.Join(root, entry.Name()))
		switch {
		case errors.Is(err, fs.ErrNotExist): // is being submitted, or was never
		case err != nil:
			problems = append(problems, err)
		default:
			all = append(all, j)
		}
	}
	return all, errors.Join(problems...)
}

// openJob reads a job's submission.
func openJob(dir string) (job, error) {
	path := filepath.Join(dir, "submission.json")
	file, err := os.Open(path)
	if err != nil {
		return job{}, fmt.Errorf("%s: %w", path, cause(err))
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return job{}, fmt.Errorf("%s: %w", path, cause(err))
	}
	var s struct{ Plan *plan.Plan }
	if err := json.NewDecoder(file).Decode(&s); err != nil || s.Plan == nil {
		return job{}, fault(exitInternal, fmt.Errorf("%s: not a submission: %w", path, err))
	}
	return job{ID: filepath.Base(dir), Dir: dir, Plan: s.Plan, Submitted: info.ModTime()}, nil
}

// find gives the jobs that words name: ids, unique first letters of ids, or
// names. Without words it is the newest job.
func (e *Env) find(ctx context.Context, words []string) ([]job, error) {
	all, listing := e.jobs(ctx)
	if len(words) == 0 {
		if len(all) == 0 {
			return nil, errors.Join(listing, faultf(exitRefused, "no job: none was submitted yet").hint("muster run --help shows how to start one"))
		}
		return all[:1], nil
	}
	var found []job
	var problems []error
	for _, w := range words {
		j, err := pick(all, w)
		if id, wrong := plan.ParseID(w); err != nil && wrong == nil && id == w {
			if e.at != "" && e.at != "local" {
				j, err = e.other(ctx, id)
			} else if other, known, problem := e.served(ctx, id); known {
				j, err = other, problem
			}
		}
		if err != nil {
			problems = append(problems, err)
			continue
		}
		found = append(found, j)
	}
	if len(problems) > 0 {
		return nil, errors.Join(append(problems, listing)...)
	}
	return found, nil
}

// one is find for a verb that takes at most one job.
func (e *Env) one(ctx context.Context, words []string) (job, error) {
	found, err := e.find(ctx, words)
	if err != nil {
		return job{}, err
	}
	return found[0], nil
}

// pick chooses by id, then by the beginning of an id (with or without "m-"),
// then by name.
func pick(all []job, word string) (job, error) {
	var byPrefix, byName []job
	for _, j := range all {
		switch {
		case j.ID == word:
			return j, nil
		case strings.HasPrefix(j.ID, word), strings.HasPrefix(strings.TrimPrefix(j.ID, "m-"), word):
			byPrefix = append(byPrefix, j)
		}
		if j.Plan.Name == word {
			byName = append(byName, j)
		}
	}
	for _, list := range [][]job{byPrefix, byName} {
		if len(list) == 1 {
			return list[0], nil
		}
		if len(list) > 1 {
			return job{}, ambiguous(word, list)
		}
	}
	f := faultf(exitRefused, "%s: no such job", word)
	var known []string
	for _, j := range all {
		known = append(known, j.ID, j.Plan.Name)
	}
	if near := spec.Suggest(word, known); near != "" {
		return job{}, f.hint("did you mean %s?", near)
	}
	return job{}, f.hint("muster ps -a lists all jobs")
}

func ambiguous(word string, list []job) error {
	f := faultf(exitUsage, "%s: could be %d jobs", word, len(list))
	for _, j := range list[:min(len(list), 10)] {
		f.hint("%s  %s  submitted %s", j.ID, j.Plan.Name, j.Submitted.Format(time.DateTime))
	}
	if len(list) > 10 {
		f.hint("and %d more: muster ps -a", len(list)-10)
	}
	return f
}

// cause takes the path and the name of the system call out of an error: the
// message names the thing already.
func cause(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}
