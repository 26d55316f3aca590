package lab

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

//go:embed secureio/SecureIOUtils.java
var secureIO []byte

// standIn returns a jar, under cache, with the class that takes the place of one
// of Hadoop's on a secure cluster, and compiles it if need be.
func standIn(ctx context.Context, cache, jars, java string) (string, error) {
	key := sha256.New()
	key.Write(secureIO)
	fmt.Fprint(key, jars)
	path := filepath.Join(cache, "hadoop", fmt.Sprintf("secureio-%.4x.jar", key.Sum(nil)))
	unlock, err := lock(path + ".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	if exists(path) {
		return path, nil
	}
	javac, err := javac(java)
	if err != nil {
		return "", err
	}
	temp, err := os.MkdirTemp(filepath.Dir(path), ".new-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(temp)
	source, classes, jar := filepath.Join(temp, "SecureIOUtils.java"), filepath.Join(temp, "classes"), filepath.Join(temp, "jar")
	if err := os.WriteFile(source, secureIO, 0o644); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, javac, "-nowarn", "-proc:none", "-cp", filepath.Join(jars, "*"), "-d", classes, source)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("javac: %w\n%s", err, tail(string(out), 10))
	}
	if err := pack(jar, classes); err != nil {
		return "", err
	}
	return path, os.Rename(jar, path)
}

// javac belongs to the Java that runs the daemons: an older one would not load
// what a newer one has compiled.
func javac(java string) (string, error) {
	path := filepath.Join(java, "bin", "javac")
	if !exists(path) {
		return "", fmt.Errorf("%s: not found\n  hint: as root: apt-get install default-jdk-headless", path)
	}
	return path, nil
}

// pack makes a jar of a folder.
func pack(jar, folder string) error {
	f, err := os.Create(jar)
	if err != nil {
		return err
	}
	defer f.Close()
	z := zip.NewWriter(f)
	all := os.DirFS(folder)
	err = fs.WalkDir(all, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(all, path)
		if err != nil {
			return err
		}
		w, err := z.CreateHeader(&zip.FileHeader{Name: path, Method: zip.Deflate, Modified: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)})
		if err != nil {
			return err
		}
		_, err = w.Write(data)
		return err
	})
	if err != nil {
		return err
	}
	return z.Close()
}
