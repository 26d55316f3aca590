//go:build chaos

package yarn

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/muster-project/muster/hadoop/conf"
	"github.com/muster-project/muster/hadoop/hdfs"
	"github.com/muster-project/muster/hadoop/login"
)

// left names what the job has left behind, after the cluster had time to clear
// up: containers, processes, local directories on the nodes, files on HDFS that
// are open.
func (j *journey) left() (out []string) {
	ctx, cancel := context.WithTimeout(j.t.Context(), patience)
	defer cancel()
	again := time.NewTicker(300 * time.Millisecond)
	defer again.Stop()
	late := time.NewTimer(clearing)
	defer late.Stop()
	for {
		out = append(j.containers(ctx), j.running()...)
		out = append(out, j.folders()...)
		if len(out) == 0 {
			out = j.leases(ctx)
		}
		if len(out) == 0 {
			return nil
		}
		select {
		case <-again.C:
		case <-late.C:
			return out
		}
	}
}

// clearing is how long nodes may take to delete what an application had.
const clearing = 40 * time.Second

func (j *journey) containers(ctx context.Context) (out []string) {
	apps, err := j.cluster.Applications(ctx)
	if err != nil {
		return []string{err.Error()}
	}
	for _, a := range apps {
		if a.ID == j.app && (a.Containers > 0 || a.Final == "UNDEFINED") {
			out = append(out, fmt.Sprintf("%s: %s, %d containers", a.ID, a.State, a.Containers))
		}
	}
	return out
}

func (j *journey) running() (out []string) {
	for _, p := range j.processes(j.app) {
		if runs(p.pid) {
			out = append(out, fmt.Sprintf("process %d on %s: %s", p.pid, p.node, p.command))
		}
	}
	return out
}

// folders are the application's on the nodes.
func (j *journey) folders() (out []string) {
	for _, pattern := range []string{"local/usercache/*/appcache/" + j.app, "local/nmPrivate/" + j.app, "log/" + j.app} {
		found, _ := filepath.Glob(filepath.Join(j.cluster.Dir, "data", "nm*", pattern))
		out = append(out, found...)
	}
	return out
}

// leases are the job's files on HDFS that are still open.
func (j *journey) leases(ctx context.Context) (out []string) {
	c, err := j.hdfs()
	if err != nil {
		return []string{err.Error()}
	}
	defer c.Close()
	dir := path.Join("/user", user, ".muster", "jobs", j.id)
	var walk func(dir string)
	walk = func(dir string) {
		list, err := c.List(ctx, dir)
		if err != nil {
			out = append(out, err.Error())
		}
		for _, f := range list {
			at := path.Join(dir, f.Name())
			if f.IsDir() {
				walk(at)
			} else if closed, err := c.Closed(ctx, at); err != nil || !closed {
				out = append(out, fmt.Sprintf("hdfs:%s is open (%v)", at, err))
			}
		}
	}
	walk(dir)
	return out
}

func (w *world) hdfs() (*hdfs.Client, error) {
	c, err := conf.Load(w.conf)
	if err != nil {
		return nil, err
	}
	fs, err := c.NameNodes(c.String("fs.defaultFS", ""))
	if err != nil {
		return nil, err
	}
	o := login.Options{User: user}
	if w.kerberos != "" {
		o = login.Options{Cache: w.ticket(), Getenv: w.getenv}
	}
	l, err := login.New(c, o)
	if err != nil {
		return nil, err
	}
	return hdfs.New(c, l.NameNode(fs))
}

// getenv is what clients of this world see.
func (w *world) getenv(name string) string {
	for _, v := range slices.Backward(w.environ) {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}
