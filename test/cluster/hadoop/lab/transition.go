package lab

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// States of a NameNode that has a second one.
const (
	stateActive  = "active"
	stateStandby = "standby"
)

func (c *Cluster) transition(ctx context.Context, name, to string) error {
	cache := c.path("kdc", "hdfs.cache")
	if err := c.Ticket(ctx, "nn/localhost", cache, 0); err != nil {
		return err
	}
	args, err := c.java("64m", "haadmin")
	if err != nil {
		return err
	}
	args = append(args, "org.apache.hadoop.hdfs.tools.DFSHAAdmin", "-transitionTo"+strings.ToUpper(to[:1])+to[1:], name)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env, cmd.Dir = append(c.environ(name), "KRB5CCNAME="+cache), c.path("tmp")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, tail(string(out), 10))
	}
	return nil
}
