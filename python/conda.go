package python

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Conda finds a conda environment: name is its directory if it has a slash, else
// its name, which is looked for where conda, mamba and their installers put
// environments on this machine.
func Conda(name string, environ []string) (string, error) {
	if strings.Contains(name, "/") {
		if !isConda(name) {
			return "", fmt.Errorf("python.conda: %s: no bin/python in it", name)
		}
		return name, nil
	}
	var looked, others []string
	absent := 0
	for _, dir := range candidates(name, environ) {
		if isConda(dir) {
			return dir, nil
		}
		switch parent := filepath.Dir(dir); {
		case slices.Contains(looked, parent):
		case !exists(parent):
			absent++
		default:
			looked = append(looked, parent)
			others = append(others, siblings(parent)...)
		}
	}
	return "", missing(name, looked, others, absent)
}

// missing says that an environment is nowhere: where it was looked for, and what
// is there instead.
func missing(name string, looked, others []string, absent int) error {
	text := "none of the " + counted(absent, "place") + " where conda puts environments is there"
	if len(looked) > 0 {
		text = "looked in " + strings.Join(looked, ", ")
		if absent > 0 {
			text += " and " + counted(absent, "place") + " that are not there"
		}
	}
	hint := "name its directory: python: {conda: DIR}; conda env list shows them"
	if len(others) > 0 {
		hint = "there are: " + strings.Join(others, ", ")
	}
	return fmt.Errorf("python.conda: %s: no such environment on this machine; %s\nhint: %s", name, text, hint)
}

// siblings are the environments in a directory of environments.
func siblings(parent string) []string {
	var out []string
	for _, name := range namesIn(parent) {
		if isConda(filepath.Join(parent, name)) {
			out = append(out, name)
		}
	}
	return out
}

func isConda(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, "bin", "python"))
	return err == nil && !info.IsDir()
}

// candidates are the directories that an environment may have.
func candidates(name string, environ []string) []string {
	var out []string
	home := variable(environ, "HOME")
	roots := condaRoots(environ, home)
	if name == "base" {
		return roots
	}
	add := func(dir string) {
		if filepath.IsAbs(dir) && !slices.Contains(out, dir) {
			out = append(out, dir)
		}
	}
	for _, v := range []string{"CONDA_ENVS_PATH", "CONDA_ENVS_DIRS"} {
		for dir := range strings.SplitSeq(variable(environ, v), ":") {
			if dir != "" {
				add(filepath.Join(dir, name))
			}
		}
	}
	if active := variable(environ, "CONDA_PREFIX"); filepath.Base(filepath.Dir(active)) == "envs" {
		add(filepath.Join(filepath.Dir(active), name))
	}
	if home != "" {
		add(filepath.Join(home, ".conda", "envs", name))
		for _, dir := range registered(home) {
			if filepath.Base(dir) == name {
				add(dir)
			}
		}
	}
	for _, root := range roots {
		add(filepath.Join(root, "envs", name))
	}
	return out
}

// condaRoots are where conda itself may be.
func condaRoots(environ []string, home string) []string {
	var out []string
	add := func(dir string) {
		if filepath.IsAbs(dir) && !slices.Contains(out, dir) {
			out = append(out, dir)
		}
	}
	if exe := variable(environ, "CONDA_EXE"); exe != "" {
		add(filepath.Dir(filepath.Dir(exe)))
	}
	for _, v := range []string{"CONDA_ROOT", "MAMBA_ROOT_PREFIX"} {
		add(variable(environ, v))
	}
	if active := variable(environ, "CONDA_PREFIX"); filepath.Base(filepath.Dir(active)) != "envs" {
		add(active)
	}
	for _, name := range []string{"miniconda3", "anaconda3", "miniforge3", "mambaforge", "micromamba", "conda"} {
		for _, above := range []string{home, "/opt", "/usr/local"} {
			if above != "" {
				add(filepath.Join(above, name))
			}
		}
	}
	return out
}

// registered are the environments that conda noted for a user.
func registered(home string) []string {
	f, err := os.Open(filepath.Join(home, ".conda", "environments.txt"))
	if err != nil {
		return nil
	}
	defer f.Close()
	var out []string
	for in := bufio.NewScanner(f); in.Scan(); {
		if line := strings.TrimSpace(in.Text()); filepath.IsAbs(line) {
			out = append(out, line)
		}
	}
	return out
}

// Activations are scripts that conda would run when it activates an environment,
// and that nobody runs here.
func Activations(env string) []string {
	list, err := filepath.Glob(filepath.Join(env, "etc", "conda", "activate.d", "*.sh"))
	if err != nil {
		return nil
	}
	return list
}
