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

//go:embed shell.xml
var shellPom []byte

// shell is DistributedShell, Hadoop's own example of a YARN application. It was
// last published for 3.4.2, with whose jars its client and master run here.
type shell struct {
	site
	jars, conf string
}

func (d *shell) name() string { return "DistributedShell" }

func (d *shell) clean(context.Context) error { return nil }

func (d *shell) prepare(ctx context.Context, s site) (err error) {
	d.site = s
	if d.jars, err = lab.Library(ctx, s.cache, "distributedshell", shellPom, os.Stderr); err != nil {
		return err
	}
	d.conf, err = s.peerConf("shell", filepath.Join(d.jars, "*"))
	return err
}

func (d *shell) command(ctx context.Context, n int, argv []string) *exec.Cmd {
	args := append(d.java(filepath.Join(d.jars, "*"), d.conf),
		"org.apache.hadoop.yarn.applications.distributedshell.Client",
		"-jar", filepath.Join(d.jars, "hadoop-yarn-applications-distributedshell-3.4.2.jar"),
		"-shell_command", strings.Join(argv, " "), "-num_containers", strconv.Itoa(n),
		"-container_memory", "256", "-container_vcores", "1", "-master_memory", "256", "-master_vcores", "1", "-queue", "default")
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = d.environ(d.conf)
	return cmd
}
