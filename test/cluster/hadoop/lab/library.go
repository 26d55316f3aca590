package lab

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

//go:embed maven/pom.xml
var pom []byte

// plugin copies what the pom names; without a version Maven would take the
// newest one there is on that day.
const plugin = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"

// Jars returns the folder that has the jars of a version under cache, and lets
// Maven fill it if need be. Whoever comes second waits for the first.
func Jars(ctx context.Context, cache, version string, out io.Writer) (string, error) {
	return library(ctx, filepath.Join(cache, "hadoop"), version, pom, out, "-Dhadoop.version="+version)
}

// Library is Jars for any pom: the folder is under cache, and begins with name.
func Library(ctx context.Context, cache, name string, pom []byte, out io.Writer) (string, error) {
	return library(ctx, cache, name, pom, out)
}

// library makes the folder beside its place and moves it there when it is whole:
// an interrupted run leaves nothing that looks finished. Its name has the pom's
// hash, so another list of jars is another folder.
func library(ctx context.Context, cache, name string, pom []byte, out io.Writer, args ...string) (string, error) {
	dir := filepath.Join(cache, fmt.Sprintf("%s-%.4x", name, sha256.Sum256(pom)))
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	unlock, err := lock(dir + ".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	mvn, err := exec.LookPath("mvn")
	if err != nil {
		return "", fmt.Errorf("mvn: not found: %w\n  hint: as root: apt-get install maven", err)
	}
	temp, err := os.MkdirTemp(cache, ".new-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(temp)
	file := filepath.Join(temp, "pom.xml")
	if err := os.WriteFile(file, pom, 0o644); err != nil {
		return "", err
	}
	fmt.Fprintf(out, "fetching %s with Maven\n", name)
	jars := filepath.Join(temp, "jars")
	args = append([]string{"-B", "-q", "-f", file, plugin, "-DincludeScope=runtime", "-DoutputDirectory=" + jars}, args...)
	cmd := exec.CommandContext(ctx, mvn, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(unix.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	if told, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: Maven cannot fetch it: %w\n%s", name, err, tail(string(told), 10))
	}
	return dir, os.Rename(jars, dir)
}

// lock takes a lock between processes; it ends with its holder.
func lock(path string) (func(), error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if err != unix.EINTR {
			f.Close()
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
}

// tail is the last lines of a text.
func tail(text string, lines int) string {
	all := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// Java returns the folder of the Java that the environment or the path names.
func Java(env []string) (string, error) {
	for _, v := range env {
		home, ok := strings.CutPrefix(v, "JAVA_HOME=")
		if !ok {
			continue
		}
		if _, err := os.Stat(filepath.Join(home, "bin", "java")); err == nil {
			return home, nil
		}
	}
	path, err := exec.LookPath("java")
	if err != nil {
		return "", fmt.Errorf("java: not found: %w\n  hint: as root: apt-get install default-jre-headless", err)
	}
	path, err = filepath.EvalSymlinks(path)
	return filepath.Dir(filepath.Dir(path)), err
}
