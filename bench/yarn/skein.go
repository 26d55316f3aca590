package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

//go:embed skein_job.py
var skeinJob []byte

// skein is Skein from PyPI: a client in Python, a driver and a master in Java. It
// has no executor: the node's shell runs the task.
type skein struct {
	site
	python string
}

func (k *skein) name() string { return "Skein" }

func (k *skein) clean(context.Context) error { return nil }

func (k *skein) prepare(ctx context.Context, s site) error {
	k.site = s
	env := filepath.Join(s.cache, "skein-0.8.2")
	k.python = filepath.Join(env, "bin", "python")
	if _, err := os.Stat(k.python); err != nil {
		if err := install(ctx, env); err != nil {
			return err
		}
	}
	// The driver asks the command "yarn" for its class path. Its answer is ready
	// here, where a site's script would take a second.
	jars, err := filepath.Glob(filepath.Join(s.cluster.Jars, "*.jar"))
	if err != nil {
		return err
	}
	stub := fmt.Sprintf("#!/bin/sh\necho '%s'\n", strings.Join(append(jars, s.cluster.Conf()), ":"))
	if err := os.MkdirAll(filepath.Join(s.dir, "bin"), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(s.dir, "bin", "yarn"), []byte(stub), 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.dir, "skein_job.py"), skeinJob, 0o644)
}

// install makes a virtual environment beside its place and moves it there when
// it is whole. Python finds its packages by its own place, so a move is no harm.
func install(ctx context.Context, env string) error {
	if err := os.MkdirAll(filepath.Dir(env), 0o755); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(filepath.Dir(env), ".new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	for _, args := range [][]string{
		{"python3", "-m", "venv", filepath.Join(temp, "env")},
		{filepath.Join(temp, "env", "bin", "python"), "-m", "pip", "install", "-q", "skein==0.8.2"},
	} {
		if out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("skein: cannot be installed: %w\n%s", err, out)
		}
	}
	return os.Rename(filepath.Join(temp, "env"), env)
}

func (k *skein) command(ctx context.Context, n int, argv []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, k.python, filepath.Join(k.dir, "skein_job.py"), strconv.Itoa(n), strings.Join(argv, " "))
	cmd.Env = k.environ(k.cluster.Conf(), "PATH="+filepath.Join(k.dir, "bin")+":"+os.Getenv("PATH"),
		"SKEIN_CONFIG="+filepath.Join(k.dir, "skein"),
		"SKEIN_DRIVER_JAVA_OPTIONS=-Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1")
	return cmd
}
