// Command hadoop brings up a real Hadoop cluster on this machine for tests, and
// plays with its daemons:
//
//	hadoop up      --dir DIR [--mode MODE] [--version V] [--owner PID] …
//	hadoop down    --dir DIR
//	hadoop status  --dir DIR
//	hadoop start   --dir DIR NAME [KEY=VALUE…]
//	hadoop kill    --dir DIR NAME   (also stop, restart, lose, pause, resume)
//	hadoop wait    --dir DIR        until all daemons are healthy
//	hadoop active  --dir DIR KIND   which NameNode (nn) or ResourceManager (rm) it is
//	hadoop failover --dir DIR KIND  makes the other one active
//	hadoop ticket  --dir DIR USER FILE [LIFETIME]   a Kerberos ticket cache
//	hadoop versions                 that are tested, the default first
//	hadoop fetch   [--version V]    downloads the jars
//	hadoop archive --dir DIR        makes the class-data archive, once the cluster is down
//
// "up" prints HADOOP_CONF_DIR=… on standard output when the cluster is healthy, and
// KRB5_CONFIG=… and KEYTABS=… where it has Kerberos; all else on standard error.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/muster-project/muster/test/cluster/hadoop/lab"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// verbs without flags of their own: they act on the cluster in --dir.
var verbs = map[string]func(ctx context.Context, c *lab.Cluster, args []string) error{
	"down":    down,
	"status":  status,
	"archive": archive,
	"wait":    func(ctx context.Context, c *lab.Cluster, _ []string) error { return c.Wait(ctx) },
	"start": func(ctx context.Context, c *lab.Cluster, args []string) error {
		return named(args, func(name string) error { return c.Start(ctx, name, settings(args[1:])...) })
	},
	"restart": func(ctx context.Context, c *lab.Cluster, args []string) error {
		return named(args, func(name string) error {
			return errors.Join(c.Stop(ctx, name), c.Start(ctx, name, settings(args[1:])...))
		})
	},
	"stop":     one((*lab.Cluster).Stop),
	"kill":     one((*lab.Cluster).Kill),
	"lose":     one((*lab.Cluster).Lose),
	"pause":    one((*lab.Cluster).Pause),
	"resume":   one((*lab.Cluster).Resume),
	"active":   told((*lab.Cluster).Active),
	"failover": told((*lab.Cluster).Failover),
	"ticket":   ticket,
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("hadoop: no command\n  hint: up, fetch, versions, %s", strings.Join(slices.Sorted(maps.Keys(verbs)), ", "))
	}
	verb, args := args[0], args[1:]
	switch verb {
	case "up":
		return up(ctx, args)
	case "fetch":
		return fetch(ctx, args)
	case "versions":
		_, err := fmt.Fprintln(os.Stdout, strings.Join(lab.Versions, "\n"))
		return err
	case "keep": // run by up
		return keep(ctx, args)
	}
	do, ok := verbs[verb]
	if !ok {
		return fmt.Errorf("%s: no such command", verb)
	}
	flags := flag.NewFlagSet(verb, flag.ContinueOnError)
	dir := flags.String("dir", "", "the cluster's directory, or its HADOOP_CONF_DIR")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *dir == "" {
		*dir = os.Getenv("HADOOP_CONF_DIR")
	}
	c, err := lab.Open(*dir)
	if err != nil {
		return err
	}
	return do(ctx, c, flags.Args())
}

func up(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("up", flag.ContinueOnError)
	o := lab.Options{Env: os.Environ(), Out: os.Stderr, Set: map[string]string{}}
	flags.StringVar(&o.Dir, "dir", "", "directory for everything; it is emptied if a cluster was there")
	flags.StringVar(&o.Mode, "mode", "capacity", "what kind of cluster:\n"+lab.Modes())
	flags.StringVar(&o.Version, "version", lab.Versions[0], "of Hadoop")
	flags.IntVar(&o.Base, "port", 0, "first of 100 `ports`; free ones are found by default")
	flags.IntVar(&o.Owner, "owner", 0, "`pid` of the process with which the cluster ends; none by default")
	flags.Func("set", "`KEY=VALUE` for yarn-site.xml; may be repeated", func(s string) error {
		key, value, ok := strings.Cut(s, "=")
		if !ok {
			return errors.New("KEY=VALUE is wanted")
		}
		o.Set[key] = value
		return nil
	})
	flags.StringVar(&o.Cache, "cache", "", "where the jars are kept")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.Dir == "" {
		return errors.New("--dir: which directory")
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	o.Keeper = []string{self, "keep"}
	if o.Cache, err = cache(o.Cache); err != nil {
		return err
	}
	c, err := lab.Up(ctx, o)
	if err != nil {
		return err
	}
	settle(c)
	return nil
}

// settle prints what a client's environment must say.
func settle(c *lab.Cluster) {
	fmt.Fprintf(os.Stdout, "HADOOP_CONF_DIR=%s\n", c.Conf())
	if config, keytabs := c.Kerberos(); config != "" {
		fmt.Fprintf(os.Stdout, "KRB5_CONFIG=%s\nKEYTABS=%s\n", config, keytabs)
	}
}

func keep(ctx context.Context, args []string) error {
	if len(args) != 2 {
		return errors.New("keep: DIR and OWNER are wanted")
	}
	owner, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	return lab.Keep(ctx, args[0], owner, os.Stderr)
}

func fetch(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("fetch", flag.ContinueOnError)
	version := flags.String("version", lab.Versions[0], "of Hadoop; all for all that are tested")
	where := flags.String("cache", "", "where the jars are kept")
	if err := flags.Parse(args); err != nil {
		return err
	}
	place, err := cache(*where)
	if err != nil {
		return err
	}
	versions := []string{*version}
	if *version == "all" {
		versions = lab.Versions
	}
	for _, v := range versions {
		dir, err := lab.Jars(ctx, place, v, os.Stderr)
		if err != nil {
			return err
		}
		fmt.Fprintln(os.Stdout, dir)
	}
	return nil
}

// cache is where the scripts of this tree keep what they download, too.
func cache(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	dir, err := os.UserCacheDir()
	return filepath.Join(dir, "muster-dev"), err
}

func down(ctx context.Context, c *lab.Cluster, _ []string) error {
	begin := time.Now()
	if err := c.Down(ctx); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "Hadoop %s, %s: down after %.1f s; its logs: %s\n", c.Version, c.Mode, time.Since(begin).Seconds(), filepath.Join(c.Dir, "logs"))
	return nil
}

func archive(ctx context.Context, c *lab.Cluster, _ []string) error {
	begin := time.Now()
	if err := c.MakeArchive(ctx); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "Hadoop %s: class-data archive: %.1f s\n", c.Version, time.Since(begin).Seconds())
	return nil
}

func status(ctx context.Context, c *lab.Cluster, _ []string) error {
	all, err := c.Daemons(ctx)
	if err != nil {
		return err
	}
	settle(c)
	for _, d := range all {
		state := "never started"
		switch {
		case d.PID != 0:
			state = fmt.Sprintf("pid %d", d.PID)
		case d.Ended != "":
			state = d.Ended
		}
		node, _ := c.Node(d.Name) // only NodeManagers have one
		fmt.Fprintf(os.Stdout, "%-4s %-20s %s\n", d.Name, state, node)
	}
	return nil
}

// one is a verb that takes the name of one daemon.
func one(do func(*lab.Cluster, context.Context, string) error) func(context.Context, *lab.Cluster, []string) error {
	return func(ctx context.Context, c *lab.Cluster, args []string) error {
		return named(args, func(name string) error { return do(c, ctx, name) })
	}
}

// told is a verb that takes a kind of daemon and names one of them.
func told(do func(*lab.Cluster, context.Context, string) (string, error)) func(context.Context, *lab.Cluster, []string) error {
	return func(ctx context.Context, c *lab.Cluster, args []string) error {
		if len(args) != 1 {
			return errors.New("which kind of daemon: nn or rm")
		}
		name, err := do(c, ctx, args[0])
		if err == nil {
			fmt.Fprintln(os.Stdout, name)
		}
		return err
	}
}

func ticket(ctx context.Context, c *lab.Cluster, args []string) error {
	if len(args) < 2 || len(args) > 3 {
		return errors.New("ticket: USER, FILE and perhaps a lifetime such as 90s are wanted")
	}
	var life time.Duration
	if len(args) == 3 {
		var err error
		if life, err = time.ParseDuration(args[2]); err != nil {
			return err
		}
	}
	return c.Ticket(ctx, args[0], args[1], life)
}

func named(args []string, do func(name string) error) error {
	if len(args) == 0 {
		return errors.New("which daemon: nn, dn, rm, nm1, …")
	}
	return do(args[0])
}

// settings turns KEY=VALUE into what a daemon's command line wants.
func settings(args []string) []string {
	var out []string
	for _, a := range args {
		out = append(out, "-D", a)
	}
	return out
}
