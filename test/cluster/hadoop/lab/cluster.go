package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// Versions that are tested: the newest of each line that the registry has. The
// first is the default.
var Versions = []string{"3.5.0", "3.4.3", "3.3.6"}

// Cluster is one cluster in its directory:
//
//	cluster.json   this description
//	keeper.sock    where the keeper takes requests
//	conf/          HADOOP_CONF_DIR
//	logs/          a file for each daemon, and the keeper's
//	data/ tmp/     what the daemons keep
//	kdc/           krb5.conf and keytabs/, where there is Kerberos
//	classes/       names of the classes that each daemon loaded, if asked for
type Cluster struct {
	Dir     string            `json:"dir"`
	Mode    string            `json:"mode"`
	Version string            `json:"version"`
	Base    int               `json:"base"` // the first of its ports
	Jars    string            `json:"jars"`
	StandIn string            `json:"standIn,omitempty"` // a jar that goes before those
	Java    string            `json:"java"`              // JAVA_HOME
	Archive string            `json:"archive,omitempty"`
	Learn   bool              `json:"learn,omitempty"` // list the classes for an archive
	Set     map[string]string `json:"set,omitempty"`   // more of yarn-site.xml
	Env     []string          `json:"env"`             // of the daemons

	root root
}

func (c *Cluster) mode() Mode { return modes[c.Mode] }

func (c *Cluster) path(parts ...string) string {
	return filepath.Join(append([]string{c.Dir}, parts...)...)
}

// Conf is the cluster's HADOOP_CONF_DIR.
func (c *Cluster) Conf() string { return c.path("conf") }

// Names lists the daemons: nn, dn, rm, nm1 and so on; kdc, zk, nn1, nn2, rm1 and
// rm2 where the mode has them.
func (c *Cluster) Names() []string {
	var names []string
	if c.secure() {
		names = append(names, "kdc")
	}
	if c.mode().Pairs {
		names = append(names, "zk")
	}
	names = append(names, c.nameNodes()...)
	names = append(names, "dn")
	names = append(names, c.managers()...)
	for n := range c.mode().Nodes {
		names = append(names, "nm"+strconv.Itoa(n+1))
	}
	return names
}

// Node is the id, host:port, that YARN knows the NodeManager called name by.
func (c *Cluster) Node(name string) (string, error) {
	for n := range c.mode().Nodes {
		if name == "nm"+strconv.Itoa(n+1) {
			return address(c.Base, nmPort(n+1)), nil
		}
	}
	return "", fmt.Errorf("%s: no NodeManager of this cluster", name)
}

// Open returns the cluster whose directory, or whose HADOOP_CONF_DIR, dir is.
func Open(dir string) (*Cluster, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	for _, place := range []string{dir, filepath.Dir(dir)} {
		data, err := os.ReadFile(filepath.Join(place, "cluster.json"))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		c := &Cluster{}
		if err := json.Unmarshal(data, c); err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(place, "cluster.json"), err)
		}
		return c, nil
	}
	return nil, fmt.Errorf("%s: no cluster of ours is there: %w", dir, fs.ErrNotExist)
}

func (c *Cluster) save() error {
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(c.path("cluster.json"), append(data, '\n'), 0o644)
}

// clear makes the cluster's directory anew. It removes only what a cluster of
// ours has left there.
func (c *Cluster) clear(ctx context.Context) error {
	old, err := Open(c.Dir)
	switch {
	case err == nil && old.Dir == c.Dir:
		if err := old.Down(ctx); err != nil {
			return err
		}
		if err := os.RemoveAll(c.Dir); err != nil {
			return err
		}
	case err == nil || errors.Is(err, fs.ErrNotExist):
		entries, err := os.ReadDir(c.Dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if len(entries) > 0 {
			return fmt.Errorf("%s: is neither empty nor a cluster of ours", c.Dir)
		}
	default:
		return err
	}
	for _, sub := range []string{"conf", "logs", "data", "tmp", "classes"} {
		if err := os.MkdirAll(c.path(sub), 0o755); err != nil {
			return err
		}
	}
	return nil
}

// Start starts the daemon called name, with more settings if there are any, as
// "-D", "key=value" in args. They hold for this start.
func (c *Cluster) Start(ctx context.Context, name string, args ...string) error {
	return c.ask(ctx, request{Op: opStart, Name: name, Args: args})
}

// Stop ends a daemon in order, and waits until it has ended.
func (c *Cluster) Stop(ctx context.Context, name string) error {
	return c.ask(ctx, request{Op: opStop, Name: name})
}

// Kill ends a daemon at once. Containers of a NodeManager go on.
func (c *Cluster) Kill(ctx context.Context, name string) error {
	return c.ask(ctx, request{Op: opKill, Name: name})
}

// Lose kills a NodeManager and all of its containers, as a machine does that
// loses its power.
func (c *Cluster) Lose(ctx context.Context, name string) error {
	if _, err := c.Node(name); err != nil {
		return err
	}
	return c.ask(ctx, request{Op: opLose, Name: name})
}

// Pause stops a daemon's clock: its connections stay, but nothing answers.
func (c *Cluster) Pause(ctx context.Context, name string) error {
	return c.ask(ctx, request{Op: opPause, Name: name})
}

// Resume ends a Pause.
func (c *Cluster) Resume(ctx context.Context, name string) error {
	return c.ask(ctx, request{Op: opResume, Name: name})
}

// Down ends the daemons and all containers. The directory stays, with the logs.
// A cluster that is already down is no error.
func (c *Cluster) Down(ctx context.Context) error {
	held, err := net.Dial("unix", claimName(c.Base))
	if err == nil {
		defer held.Close()
	}
	switch err := c.ask(ctx, request{Op: opEnd}); {
	case err == nil && held != nil:
		_, _ = held.Read(make([]byte, 1)) // returns when the keeper lets its claim go, its last act
	case err != nil && !errors.Is(err, errNoKeeper):
		return err
	}
	// What a keeper that was killed has left.
	return sweep(ctx, func() []int { return c.marked("") })
}

// known says whether the cluster has a daemon of that name.
func (c *Cluster) known(name string) error {
	if !slices.Contains(c.Names(), name) {
		return fmt.Errorf("%s: no daemon of this cluster; it has %v", name, c.Names())
	}
	return nil
}
