//go:build hadoop

package yarn

import (
	"context"
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	backend "github.com/muster-project/muster/backend/yarn"
	"github.com/muster-project/muster/storage"
)

// write writes files into a directory of their own.
func write(t *testing.T, content map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range content {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestNodesMakeTheirEnvironmentOfRequirementsOnceEach(t *testing.T) {
	w := newWorld(t)
	dir := write(t, map[string]string{
		"requirements.txt": "six==1.16.0\n",
		"show.py":          "import os, six, sys\nprint('six', six.__version__, 'in', sys.prefix, os.environ['VIRTUAL_ENV'] == sys.prefix)\n",
		"job.yaml": "on: yarn\npython: {requirements: requirements.txt}\n" +
			"roles: {worker: {instances: 3, memory: 512MiB, command: [python, show.py]}}\n",
	})
	out, said, status := w.muster("run", filepath.Join(dir, "job.yaml"))
	if status != 0 || !strings.Contains(said, "1 wheel gathered in ") {
		t.Fatalf("status %d\n%s%s", status, out, said)
	}
	homes := map[string]bool{}
	lines := regexp.MustCompile(`(?m)^worker/\d \| six 1\.16\.0 in (/\S+/appcache/\S+) True$`).FindAllStringSubmatch(out, -1)
	for _, m := range lines {
		homes[m[1]] = true
	}
	if made := strings.Count(said, "published python: 1 wheel installed in "); len(lines) != 3 || made != len(homes) {
		t.Errorf("%d of 3 tasks ran, in %d environments that were made %d times:\n%s%s", len(lines), len(homes), made, out, said)
	}
}

// An interpreter that is another one on the nodes: the machine of this cluster
// has only one version, so this one says in a container that it is older.
const older = `#!/bin/sh
if [ -n "$CONTAINER_ID" ]; then
	echo '{"name": "CPython", "version": "3.9.2", "tag": "cp39", "machine": "x86_64", "libc": "glibc 2.31", "venv": true}'
	exit
fi
exec python3 "$@"
`

func TestAnInterpreterThatTheWheelsAreNotForIsTold(t *testing.T) {
	w := newWorld(t)
	dir := write(t, map[string]string{"requirements.txt": "six==1.16.0\n", "python-of-node": older})
	interpreter := filepath.Join(dir, "python-of-node")
	out, said, status := w.muster("run", "--on", "yarn", "--memory", "512MiB", "--workdir", "none", "--python", filepath.Join(dir, "requirements.txt"),
		"--set", "python.interpreter="+interpreter, "--", "python", "-c", "print('it ran')")
	want := regexp.MustCompile(`python: the wheels are for CPython 3\.\d+\.\d+ \(cp3\d+\), this node's ` + regexp.QuoteMeta(interpreter) + ` is CPython 3\.9\.2 \(cp39\)`)
	if status == 0 || !want.MatchString(said) || strings.Contains(out, "it ran") {
		t.Errorf("status %d\n%s%s", status, out, said)
	}
}

func TestAPackedEnvironmentIsUnpackedOnTheNodes(t *testing.T) {
	w := newWorld(t)
	dir := write(t, map[string]string{"show.py": "import sys\nprint('prefix', sys.prefix)\n"})
	packed := filepath.Join(dir, "env.tar.gz")
	run(t, dir, "python3", "-m", "venv", "--without-pip", "env")
	run(t, dir, "tar", "-czf", packed, "env")
	fsys := backend.New(backend.At(w.conf, backend.Who{User: w.user})).FS()
	path := "/tmp/muster-test-" + rand.Text() + ".tar.gz"
	content, err := os.ReadFile(packed)
	if err == nil {
		err = storage.PublishBytes(t.Context(), fsys, path, 0o644, content)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = fsys.Remove(context.WithoutCancel(t.Context()), path) }()
	for _, from := range []string{packed, "hdfs://" + path} {
		out, said, status := w.muster("run", "--on", "yarn", "--memory", "512MiB", "--workdir", dir, "--python", from, "--", "python", "show.py")
		if status != 0 || !regexp.MustCompile(`task/0 \| prefix /\S+/appcache/\S+/env`).MatchString(out) {
			t.Errorf("%s: status %d\n%s%s", from, status, out, said)
		}
	}
	_, said, status := w.muster("run", "--on", "yarn", "--memory", "512MiB", "--workdir", "none", "--python", "hdfs://"+path+"x", "--", "true")
	if status != 69 || !strings.Contains(said, "python.archive: hdfs://"+path+"x: is not there") {
		t.Errorf("status %d: %s", status, said)
	}
}

// run runs a program of this machine.
func run(t *testing.T, dir string, argv ...string) {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, out)
	}
}
