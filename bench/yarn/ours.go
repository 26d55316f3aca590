package main

import (
	"context"
	"os/exec"
	"path/filepath"
	"strconv"
)

// ours is muster.
type ours struct {
	site
	program string
}

func (m *ours) name() string { return "muster" }

func (m *ours) prepare(_ context.Context, s site) error {
	m.site = s
	return nil
}

func (m *ours) command(ctx context.Context, n int, argv []string) *exec.Cmd {
	args := append([]string{"run", "--on", "yarn", "-N", strconv.Itoa(n), "-c", "1", "--memory", "256MiB", "--"}, argv...)
	cmd := exec.CommandContext(ctx, m.program, args...)
	cmd.Dir = m.dir
	cmd.Env = m.environ(m.cluster.Conf(), "MUSTER_HOME="+filepath.Join(m.dir, "muster"))
	return cmd
}

// clean stops the server that the client may have started.
func (m *ours) clean(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, m.program, "serve", "--stop")
	cmd.Env = m.command(ctx, 0, nil).Env
	return cmd.Run()
}
