package container

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// here are variables that name the machine, the session or the person at the
// terminal where they were set: a task elsewhere must not believe them.
var here = []string{
	"HOME", "TMPDIR", "TMP", "TEMP", "SHELL", "PWD", "OLDPWD", "SHLVL", "_", "USER", "LOGNAME", "MAIL", "HOSTNAME", "HOSTTYPE",
	"DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "WINDOWID", "TERM_PROGRAM", "TERM_SESSION_ID", "STY", "TMUX", "TMUX_PANE",
	"KRB5CCNAME", "GPG_AGENT_INFO", "GPG_TTY", "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", tokenFile,
}

// hereToo are beginnings of such names.
var hereToo = []string{"SSH_", "XDG_", "DBUS_", "SUDO_", "SYSTEMD_", "GNOME_", "KDE_", "VSCODE_", "BASH_FUNC_"}

// nodes are variables that say where a node has its programs: the node knows it
// better than the submitter.
var nodes = []string{
	"JAVA_HOME", "HADOOP_HOME", "HADOOP_COMMON_HOME", "HADOOP_HDFS_HOME", "HADOOP_YARN_HOME", "HADOOP_MAPRED_HOME",
	"HADOOP_CONF_DIR", "YARN_CONF_DIR", "CONTAINER_ID", "NM_HOST", "LOCAL_DIRS",
}

// defaults are variables of the node that serve where the submitter has none.
var defaults = []string{"LANG", "TZ", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH"}

// inherit is the environment of tasks on this node: the submitter's, without
// what is only true where it was submitted, and with what is true here.
func inherit(submitter, node map[string]string, home, temp, user string) map[string]string {
	out := maps.Clone(submitter)
	if out == nil {
		out = map[string]string{}
	}
	for name := range submitter {
		if slices.Contains(here, name) || slices.ContainsFunc(hereToo, func(p string) bool { return strings.HasPrefix(name, p) }) {
			delete(out, name)
		}
	}
	for _, name := range nodes {
		delete(out, name)
		if value, ok := node[name]; ok {
			out[name] = value
		}
	}
	for _, name := range defaults {
		if value, ok := node[name]; ok && out[name] == "" {
			out[name] = value
		}
	}
	if user == "" {
		user = node["USER"]
	}
	out["HOME"], out["TMPDIR"], out["USER"], out["LOGNAME"] = home, temp, user, user
	out["SHELL"] = "/bin/sh"
	out["PATH"] = joined(submitter["PATH"], node["PATH"])
	return out
}

// joined is a search path with the submitter's directories first, since they
// were chosen, and then the node's, since there are its programs.
func joined(submitter, node string) string {
	var out []string
	for dir := range strings.SplitSeq(submitter+":"+node, ":") {
		if filepath.IsAbs(dir) && !slices.Contains(out, dir) {
			out = append(out, dir)
		}
	}
	if len(out) == 0 {
		return "/usr/local/bin:/usr/bin:/bin"
	}
	return strings.Join(out, ":")
}
