package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/muster-project/muster/api"
)

// Paths are the places this user's muster lives in.
//
//	                 with MUSTER_HOME=H  else
//	state            H                   $XDG_STATE_HOME/muster (~/.local/state/muster)
//	user's settings  H/config.yaml       $XDG_CONFIG_HOME/muster/config.yaml (~/.config/…)
//	socket           MUSTER_SOCKET, else in the state directory
//	site's settings  MUSTER_SITE, else /etc/muster/site.yaml
//	claims           MUSTER_CLAIMS, else what the local backend chooses for the machine
type Paths struct {
	State  string
	User   string
	Site   string
	Socket string
	Claims string
}

// Paths works out the places from the environment.
func (e *Env) Paths() (Paths, error) {
	p := Paths{Site: "/etc/muster/site.yaml", Claims: e.Getenv("MUSTER_CLAIMS")}
	if site, ok := e.Lookup("MUSTER_SITE"); ok {
		p.Site = site
	}
	if home := e.Getenv("MUSTER_HOME"); home != "" {
		home = e.abs(home)
		p.State = home
		p.User = filepath.Join(home, "config.yaml")
	} else {
		state, err1 := e.xdg("XDG_STATE_HOME", ".local/state")
		config, err2 := e.xdg("XDG_CONFIG_HOME", ".config")
		if err := errors.Join(err1, err2); err != nil {
			return p, err
		}
		p.State = filepath.Join(state, "muster")
		p.User = filepath.Join(config, "muster", "config.yaml")
	}
	p.Socket = api.Socket(p.State)
	if s := e.Getenv("MUSTER_SOCKET"); s != "" {
		p.Socket = e.abs(s)
	}
	return p, nil
}

// xdg follows the XDG rule: an empty or relative value counts as unset.
func (e *Env) xdg(name, fallback string) (string, error) {
	if v := e.Getenv(name); filepath.IsAbs(v) {
		return v, nil
	}
	home := e.Getenv("HOME")
	if !filepath.IsAbs(home) {
		return "", faultf(exitRefused, "HOME: not set, and neither are MUSTER_HOME and %s", name).
			hint("set MUSTER_HOME to a directory for muster's state")
	}
	return filepath.Join(home, fallback), nil
}

// Jobs is the directory of all jobs' directories.
func (p Paths) Jobs() string { return filepath.Join(p.State, "jobs") }

// abs makes a path absolute against the working directory of the command.
func (e *Env) abs(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(e.Dir, path)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func atoi(s string, fallback int) int {
	if n, err := strconv.Atoi(s); err == nil && n > 0 {
		return n
	}
	return fallback
}

// home shortens a path for people: ~/x instead of /home/ada/x.
func (e *Env) home(path string) string {
	h := e.Getenv("HOME")
	if rel, err := filepath.Rel(h, path); h != "" && h != "/" && err == nil && filepath.IsLocal(rel) {
		return filepath.Join("~", rel)
	}
	return path
}

// relative shortens a path to one seen from the working directory.
func (e *Env) relative(path string) string {
	if rel, err := filepath.Rel(e.Dir, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// dirError says that the working directory itself is gone.
func (e *Env) dirError() error {
	if e.Dir == "" || !isDir(e.Dir) {
		return fault(exitUsage, fmt.Errorf("current directory: it is not there any more")).
			hint("cd to a directory that exists")
	}
	return nil
}
