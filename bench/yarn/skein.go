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
	python string // an interpreter that has it
}

func (k *skein) name() string { return "Skein" }

func (k *skein) clean(context.Context) error { return nil }

func (k *skein) prepare(_ context.Context, s site) error {
	k.site = s
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

func (k *skein) command(ctx context.Context, n int, argv []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, k.python, filepath.Join(k.dir, "skein_job.py"), strconv.Itoa(n), strings.Join(argv, " "))
	cmd.Env = k.environ(k.cluster.Conf(), "PATH="+filepath.Join(k.dir, "bin")+":"+os.Getenv("PATH"),
		"SKEIN_CONFIG="+filepath.Join(k.dir, "skein"),
		"SKEIN_DRIVER_JAVA_OPTIONS=-Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1")
	return cmd
}
