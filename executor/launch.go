package executor

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/process"
)

// launch writes the files of a launch and starts its processes.
func (e *executor) launch(ctx context.Context, dir string, l plan.Launch) (*process.Tree, scene, error) {
	work := filepath.Join(dir, workDir)
	if e.Work.InPlace {
		work = e.Work.Source
	}
	fill := e.filler(dir, work)
	if err := write(dir, l.Files, fill); err != nil {
		return nil, scene{}, err
	}
	if err := writeModule(dir); err != nil {
		return nil, scene{}, err
	}
	agent, err := openAgent(dir, l.Peers)
	if err != nil {
		return nil, scene{}, err
	}
	argv := make([]string, len(l.Argv))
	for i, a := range l.Argv {
		argv[i] = fill(a)
	}
	spec := process.Spec{
		Guardian: e.opt.Guardian,
		MaxSize:  int64(e.Logs.MaxSize),
		Keep:     e.Logs.Keep,
		Umask:    e.Umask,
		Grace:    time.Duration(e.Grace),
		Limits:   process.Limits{CPUSet: e.CPUSet, Memory: e.Resources.Memory, Cgroup: e.Cgroup},
		Hold:     e.opt.Hold,
	}
	for i := range max(1, len(l.Procs)) {
		spec.Procs = append(spec.Procs, process.Proc{
			Argv: argv, Env: e.environ(dir, work, l, i), Dir: work,
			Stdout: logPath(dir, i, "out"), Stderr: logPath(dir, i, "err"),
		})
	}
	if agent != nil {
		e.wg.Go(func() { e.serveAgent(ctx, agent) }) // ctx lasts as long as the incarnation
	}
	publish := map[string]string{}
	for key, value := range l.Publish {
		publish[key] = fill(value)
	}
	tree, err := process.Start(ctx, spec)
	return tree, scene{env: spec.Procs[0].Env, work: work, publish: publish}, err
}

func logPath(dir string, proc int, stream string) string {
	return filepath.Join(dir, logDir, strconv.Itoa(proc)+"."+stream)
}

// write puts the files of a launch into the incarnation's directory, and
// nowhere else. One that begins as a script does can be run.
func write(dir string, files map[string][]byte, fill func(string) string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("%s: %w", dir, cause(err))
	}
	defer func() { _ = root.Close() }()
	for name, content := range files {
		if parent := filepath.Dir(name); parent != "." {
			if err := root.MkdirAll(parent, 0o700); err != nil {
				return fmt.Errorf("%s: cannot be written: %w", name, cause(err))
			}
		}
		mode := fs.FileMode(0o600)
		if bytes.HasPrefix(content, []byte("#!")) {
			mode = 0o700
		}
		if err := root.WriteFile(name, []byte(fill(string(content))), mode); err != nil {
			return fmt.Errorf("%s: cannot be written: %w", name, cause(err))
		}
	}
	return nil
}
