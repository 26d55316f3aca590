package executor

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/storage/archive"
	"github.com/muster-project/muster/wire"
)

// stage puts a blob where executors read it.
func (j *job) stage(content []byte) string {
	j.t.Helper()
	sum := sha256.Sum256(content)
	name := hex.EncodeToString(sum[:])
	if err := os.WriteFile(filepath.Join(j.dir, "blobs", name), content, 0o400); err != nil {
		j.t.Fatal(err)
	}
	return name
}

// pack stages a directory with these files.
func (j *job) pack(files map[string]string) string {
	j.t.Helper()
	dir := j.t.TempDir()
	for name, text := range files {
		mode := os.FileMode(0o644)
		if strings.HasSuffix(name, ".sh") {
			mode = 0o755
		}
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			j.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			j.t.Fatal(err)
		}
	}
	if err := os.Symlink("träin.sh", filepath.Join(dir, "link")); err != nil {
		j.t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := archive.Pack(j.t.Context(), &b, dir, archive.Options{}); err != nil {
		j.t.Fatal(err)
	}
	return j.stage(b.Bytes())
}

// F-029: each task has a copy of its own, which others cannot change.
func TestF029EachIncarnationSeesItsOwnCopy(t *testing.T) {
	j := newJob(t)
	d := j.coordinator(1, true)
	c := j.context(d, worker)
	c.Work = plan.Work{
		Archive: j.pack(map[string]string{"träin.sh": "#!/bin/sh\ncat data conf/x.json tree/träin.sh; echo changed > data\n", "data": "original\n"}),
		Files: []plan.File{
			{Name: "conf/x.json", Blob: j.stage([]byte("{}\n")), Mode: 0o600},
			{Name: "tree", Blob: j.pack(map[string]string{"träin.sh": "unpacked\n"}), Unpack: true},
		},
	}
	live(t, c)
	for n := 1; n <= 2; n++ {
		if x := d.exits(n, plan.Launch{Argv: []string{"./link"}}); x.Status != 0 {
			t.Fatalf("exit %+v", x)
		}
		dir := filepath.Join(c.Root, string(rune('0'+n)))
		if got := read(t, filepath.Join(dir, "logs", "0.out")); got != "original\n{}\nunpacked\n" {
			t.Errorf("incarnation %d saw %q", n, got)
		}
		if info, err := os.Stat(filepath.Join(dir, "work", "conf", "x.json")); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
	}
}

func TestWithoutAWorkdirTheTaskRunsInAnEmptyOne(t *testing.T) {
	j := newJob(t)
	d := j.coordinator(1, true)
	c := j.context(d, worker)
	live(t, c)
	d.exits(1, shell(`pwd; ls -A`))
	want := filepath.Join(c.Root, "1", "work") + "\n"
	if got := read(t, filepath.Join(c.Root, "1", "logs", "0.out")); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestInPlaceRunsInTheDirectoryItself(t *testing.T) {
	j := newJob(t)
	d := j.coordinator(1, true)
	c := j.context(d, worker)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "same.txt"), []byte("same"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.Work = plan.Work{InPlace: true, Source: dir, Files: []plan.File{
		{Name: "same.txt", Blob: j.stage([]byte("same"))},
		{Name: "new.txt", Blob: j.stage([]byte("new"))},
	}}
	live(t, c)
	d.exits(1, shell(`pwd; cat same.txt new.txt`))
	if got := read(t, filepath.Join(c.Root, "1", "logs", "0.out")); got != dir+"\nsamenew" {
		t.Errorf("got %q", got)
	}
}

func TestInPlaceNeverReplacesAFile(t *testing.T) {
	j := newJob(t)
	d := j.coordinator(1, true)
	c := j.context(d, worker)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "conf"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.Work = plan.Work{InPlace: true, Source: dir, Files: []plan.File{{Name: "conf", Blob: j.stage([]byte("theirs"))}}}
	live(t, c)
	d.send(wire.Directive{Prepare: &wire.Prepare{Incarnation: 1}})
	if r := wait(d, registered(1)); r.Exit == nil || !strings.Contains(r.Exit.Text, "files: conf: another file of that name") {
		t.Errorf("registered %+v", r)
	}
	if got := read(t, filepath.Join(dir, "conf")); got != "mine" {
		t.Errorf("now it is %q", got)
	}
}

func TestAllFilesThatAreMissingAreNamedAtOnce(t *testing.T) {
	j := newJob(t)
	d := j.coordinator(1, true)
	c := j.context(d, worker)
	c.Work.Files = []plan.File{{Name: "a", Blob: "gone1"}, {Name: "b", Blob: "gone2"}, {Name: "../c", Blob: j.stage([]byte("x"))}}
	live(t, c)
	d.send(wire.Directive{Prepare: &wire.Prepare{Incarnation: 1}})
	r := wait(d, registered(1))
	for _, want := range []string{"files: a:", "files: b:", "files: ../c:"} {
		if r.Exit == nil || !strings.Contains(r.Exit.Text, want) {
			t.Errorf("%q is not in %+v", want, r.Exit)
		}
	}
	if _, err := os.Stat(filepath.Join(c.Root, "1", "c")); err == nil {
		t.Error("a file was put outside of the work directory")
	}
}

func TestFilesOfALaunchStayInTheTasksDirectory(t *testing.T) {
	dir := t.TempDir()
	fill := strings.NewReplacer("${muster.dir}", dir).Replace
	err := write(dir, map[string][]byte{"roster.json": []byte(`{"dir":"${muster.dir}"}`), "sub/x": {0xff, 0}}, fill)
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, filepath.Join(dir, "roster.json")); got != `{"dir":"`+dir+`"}` {
		t.Errorf("got %q", got)
	}
	if got := read(t, filepath.Join(dir, "sub", "x")); got != "\xff\x00" {
		t.Errorf("got %q", got)
	}
	if err := write(dir, map[string][]byte{"../out": nil}, fill); err == nil {
		t.Error("a file was written outside")
	}
}

// A staged file that was damaged on its way is no start.
func TestADamagedBlobIsRefused(t *testing.T) {
	j := newJob(t)
	name := j.stage([]byte("what was staged"))
	path := filepath.Join(j.dir, "blobs", name)
	if err := errors.Join(os.Remove(path), os.WriteFile(path, []byte("something else"), 0o400)); err != nil {
		t.Fatal(err)
	}
	e := &executor{Context: Context{Blobs: filepath.Join(j.dir, "blobs")}}
	r, err := e.source(t.Context(), name, "")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := io.ReadAll(r); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("read without complaint: %v", err)
	}
}
