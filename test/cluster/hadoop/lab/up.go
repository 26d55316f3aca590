package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Options say what Up brings up.
type Options struct {
	Dir     string            // absent, empty, or an earlier cluster's, which is replaced
	Mode    string            // a name of Modes
	Version string            // one of Versions, or another that the registry has
	Base    int               // the first of 100 ports; 0 takes free ones
	Owner   int               // the process with which the cluster ends; 0 for none
	Set     map[string]string // more of yarn-site.xml
	Cache   string            // where the jars are kept
	Env     []string          // of the caller; the daemons get the harmless part
	Keeper  []string          // the command that runs Keep, to which "DIR OWNER" is added
	Out     io.Writer         // is told what was done, and how long it took
}

// Up brings a cluster up and returns when it is healthy.
func Up(ctx context.Context, o Options) (*Cluster, error) {
	if _, ok := modes[o.Mode]; !ok {
		return nil, fmt.Errorf("%s: no such mode\n  hint: %s", o.Mode, strings.Join(slices.Sorted(maps.Keys(modes)), ", "))
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	c := &Cluster{Dir: dir, Mode: o.Mode, Version: o.Version, Set: o.Set, Env: harmless(o.Env)}
	if most := 100; len(c.socket()) > most {
		return nil, fmt.Errorf("%s: too long a name: a socket in it must have at most %d bytes", dir, most)
	}
	u := up{Cluster: c, out: o.Out, begin: time.Now()}
	fmt.Fprintf(o.Out, "Hadoop %s, %s: %s\n", c.Version, c.Mode, c.mode().About)
	if c.Java, err = Java(o.Env); err != nil {
		return nil, err
	}
	if c.Jars, err = Jars(ctx, o.Cache, o.Version, o.Out); err != nil {
		return nil, err
	}
	if c.secure() {
		if c.StandIn, err = standIn(ctx, o.Cache, c.Jars, c.Java); err != nil {
			return nil, err
		}
	}
	if path := archiveFor(c.Jars, c.StandIn, c.Java); exists(path) {
		c.Archive = path
	} else {
		c.Learn = true
	}
	u.told("jars of Hadoop " + c.Version)
	if err := c.clear(ctx); err != nil {
		return nil, err
	}
	base, held, err := claim(o.Base)
	if err != nil {
		return nil, err
	}
	defer held.Close() // the keeper has it by then
	c.Base = base
	if err := errors.Join(c.writeConf(), c.save()); err != nil {
		return nil, err
	}
	if err := u.keep(ctx, o.Keeper, held); err != nil {
		return nil, err
	}
	held.Close()
	if err := u.start(ctx); err != nil {
		// Also when the caller was interrupted.
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		return nil, errors.Join(err, c.Down(late))
	}
	return c, c.ask(ctx, request{Op: opOwn, PID: o.Owner})
}

// up is one call of Up.
type up struct {
	*Cluster
	out   io.Writer
	begin time.Time
}

func (u *up) told(what string) {
	fmt.Fprintf(u.out, "  %-34s %6.1f s\n", what, time.Since(u.begin).Seconds())
}

// keep starts the keeper. Until the cluster is healthy its owner is this process.
func (u *up) keep(ctx context.Context, command []string, held net.Listener) error {
	claim, err := handOver(held)
	if err != nil {
		return err
	}
	defer claim.Close()
	log, err := os.Create(u.path("logs", "keeper.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	args := append(slices.Clone(command), u.Dir, fmt.Sprint(os.Getpid()))
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr, cmd.Dir, cmd.ExtraFiles = log, log, u.Dir, []*os.File{claim}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("keeper: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // ends with the keeper, or with this process
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		if _, err := u.Daemons(ctx); err == nil {
			return nil
		}
		select {
		case <-again.C:
		case err := <-ended:
			data, _ := os.ReadFile(log.Name())
			return fmt.Errorf("keeper: has ended: %w\n%s", err, data)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// start starts the daemons all at once and lets them find each other. Only the
// NameNodes wait for the formatting, and all for the KDC.
func (u *up) start(ctx context.Context) error {
	if u.secure() {
		if err := errors.Join(u.makeRealm(ctx), u.Start(ctx, "kdc"), u.await(ctx, u.realm().Ready)); err != nil {
			return err
		}
		u.told("KDC with principals and keytabs")
	}
	for _, name := range u.Names() {
		if kind, _ := split(name); kind == "nn" || kind == "kdc" {
			continue
		}
		if err := u.Start(ctx, name); err != nil {
			return err
		}
	}
	if err := u.format(ctx); err != nil {
		return err
	}
	u.told("HDFS formatted")
	for _, name := range u.nameNodes() {
		if err := u.Start(ctx, name); err != nil {
			return err
		}
	}
	steps := []step{
		{"NameNode, DataNode", u.waitFor(u.hdfsReady)},
		{"ResourceManager", u.waitFor(u.rmReady)},
		{fmt.Sprintf("%d NodeManagers", len(u.mode().Nodes)), u.waitFor(u.nodesReady)},
		{"folders and homes on HDFS", u.makeFolders},
	}
	if u.mode().Pairs {
		steps = slices.Insert(steps, 0, step{u.nameNodes()[0] + " active", u.waitFor(u.promote)})
	}
	if len(u.mode().Labels) > 0 {
		steps = append(steps, step{"node labels", u.setLabels})
	}
	for _, step := range steps {
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
		u.told(step.what)
	}
	return u.alive(ctx)
}

type step struct {
	what string
	do   func(context.Context) error
}

func (u *up) waitFor(check func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error { return u.await(ctx, check) }
}

// format makes an empty file system. The second of two NameNodes gets a copy.
func (u *up) format(ctx context.Context) error {
	names := u.nameNodes()
	args, err := u.command(names[0], []string{"-format", "-nonInteractive"})
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env, cmd.Dir = u.environ(names[0]), u.path("tmp")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("NameNode -format: %w\n%s", err, tail(string(out), 10))
	}
	for _, name := range names[1:] {
		if err := os.CopyFS(u.path("data", name), os.DirFS(u.path("data", names[0]))); err != nil {
			return err
		}
	}
	return nil
}

// harmless is the part of an environment that daemons, and by them containers,
// may have: neither credentials nor settings of ours or of a Hadoop.
func harmless(env []string) []string {
	var kept []string
	for _, v := range env {
		switch name, _, _ := strings.Cut(v, "="); name {
		case "PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ":
			kept = append(kept, v)
		}
	}
	return kept
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
