package main

import (
	"context"
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/muster-project/muster/test/cluster/hadoop/lab"
)

//go:embed tony.xml
var tonyPom []byte

// tony is TonY's client, which needs its jar nowhere else than on the class path
// of the nodes: uploading it would take longer.
type tony struct {
	site
	jars, conf string
}

func (t *tony) name() string { return "TonY" }

func (t *tony) clean(context.Context) error { return nil }

func (t *tony) prepare(ctx context.Context, s site) (err error) {
	t.site = s
	if t.jars, err = lab.Library(ctx, s.cache, "tony", tonyPom, os.Stderr); err != nil {
		return err
	}
	t.conf, err = s.peerConf("tony", filepath.Join(t.jars, "*"))
	return err
}

func (t *tony) command(ctx context.Context, n int, argv []string) *exec.Cmd {
	args := append(t.java(filepath.Join(t.jars, "*"), t.conf), "com.linkedin.tony.TonyClient", "-executes", strings.Join(argv, " "))
	for _, setting := range []string{
		"application.security.enabled=false",
		"am.memory=512m", "am.vcores=1",
		"worker.instances=" + strconv.Itoa(n), "worker.memory=512m", "worker.vcores=1",
		"task.executor.jvm.opts=-Xmx256m",
		// Without it each task runs the script "hadoop classpath" first.
		"containers.envs=SKIP_HADOOP_PATH=true",
	} {
		args = append(args, "-conf", "tony."+setting)
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = t.dir // it leaves files where it runs
	cmd.Env = t.environ(t.conf)
	return cmd
}
