package cli

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/backend/yarn"
	"github.com/muster-project/muster/coordinator"
	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/internal/version"
)

// cluster makes the backend of BACKEND[:SITE]. conf is the directory of its
// settings, if it is known from before.
func (e *Env) cluster(on, conf string, who yarn.Who) (backend.Backend, error) {
	name, site, _ := strings.Cut(on, ":")
	if name != yarn.Name {
		return nil, faultf(exitRefused, "%s: no cluster", on).hint("it has: %s", strings.Join(backends, ", "))
	}
	if conf == "" {
		conf = e.hadoopConf(site)
	}
	if site != "" && !isDir(conf) {
		return nil, faultf(exitRefused, "on: %s: no such site: there is no %s", on, e.home(conf)).
			hint("put the cluster's core-site.xml, hdfs-site.xml and yarn-site.xml there, or into ~/.config/muster/sites/%s", site)
	}
	paths, err := e.Paths()
	if err != nil {
		return nil, err
	}
	c := yarn.At(conf, who)
	c.Site = site
	c.Kept = true
	c.Log = e.tending
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	c.Muster = os.Executable
	c.Executor = func() (string, error) {
		argv, err := executorArgv(filepath.Join(paths.State, "bin"))
		if err != nil || argv[0] == "/proc/self/exe" {
			return "/proc/self/exe", err // of a plain build: muster knows the executor by its name
		}
		return argv[0], nil
	}
	b := yarn.New(c)
	b.Seal = func(ctx context.Context, ref backend.Ref, o event.Outcome) error {
		return coordinator.Seal(ctx, b.FS(), ref.Dir, o, version.String())
	}
	return b, nil
}

// hadoopConf is the directory of a cluster's site files: that of a named site,
// else what HADOOP_CONF_DIR says, as for every Hadoop program.
func (e *Env) hadoopConf(site string) string {
	if site != "" {
		if config, err := e.xdg("XDG_CONFIG_HOME", ".config"); err == nil {
			if own := filepath.Join(config, "muster", "sites", site); isDir(own) {
				return own
			}
		}
		return filepath.Join("/etc/muster/sites", site)
	}
	for _, name := range []string{"HADOOP_CONF_DIR", "YARN_CONF_DIR"} {
		if dir := e.Getenv(name); dir != "" {
			return e.abs(dir)
		}
	}
	if home := e.Getenv("HADOOP_HOME"); home != "" {
		return filepath.Join(e.abs(home), "etc", "hadoop")
	}
	return "/etc/hadoop/conf"
}
