package process

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-project/muster/process/capture"
)

func TestF091ALetterCutInTwoByTheLogStream(t *testing.T) {
	// printf's octal escapes cut é and 日 in the middle, with pauses.
	s := task(t, `printf 'caf\303'; sleep 0.2; printf '\251 \346\227'; sleep 0.2; printf '\245\n\377\376 bad\0nul\nend'`)
	tree := begin(t, s)
	ctx, ended := context.WithCancel(t.Context())
	go func() {
		<-tree.Done()
		ended()
	}()
	r, err := capture.Open(s.Procs[0].Stdout)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var live []string
	for line, err := range r.Follow(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		live = append(live, line.Text)
	}
	if diff := cmp.Diff([]string{"café 日", "\ufffd\ufffd bad␀nul", "end"}, live); diff != "" {
		t.Error(diff)
	}
	if got, want := content(t, s.Procs[0].Stdout), "café 日\n\xff\xfe bad\x00nul\nend"; got != want {
		t.Errorf("stored %q, want %q", got, want)
	}
	if got := tree.Result(); got.First != -1 || got.Procs[0].Status != 0 {
		t.Errorf("the output changed the result: %+v", got)
	}
}

const long = 200 << 20

// longLine prints a line of 200 MB, then two short ones, the last without end.
func longLine() int {
	block := bytes.Repeat([]byte("0123456789abcdef"), 4096)
	for range long / len(block) {
		if _, err := os.Stdout.Write(block); err != nil {
			return 1
		}
	}
	fmt.Fprint(os.Stdout, "\nnormal\nlast")
	fmt.Fprintln(os.Stderr, "printed")
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		if _, err := os.Stat("go"); err == nil {
			break
		}
	}
	return 0
}

func TestF092ALineOf200Megabytes(t *testing.T) {
	s := task(t, "exec $BINARY long-line")
	tree := begin(t, s)
	printed(t, s.Procs[0].Stderr, "printed")
	if peak := highWater(t, tree.cmd.Process.Pid); peak > 50<<20 {
		t.Errorf("the guardian took %d MiB", peak>>20)
	}
	if err := os.WriteFile(filepath.Join(s.Procs[0].Dir, "go"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if got := result(t, tree); got.Procs[0].Status != 0 {
		t.Errorf("got %+v", got)
	}
	info, err := os.Stat(s.Procs[0].Stdout)
	if err != nil {
		t.Fatal(err)
	}
	if want := int64(long + len("\nnormal\nlast")); info.Size() != want {
		t.Errorf("%d bytes stored, want %d", info.Size(), want)
	}

	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	lines, err := capture.Tail(s.Procs[0].Stdout, 3)
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 10<<20 {
		t.Errorf("the reader took %d MiB", took>>20)
	}
	if len(lines) != 3 || lines[1].Text != "normal" || lines[2].Text != "last" ||
		!strings.HasSuffix(lines[0].Text, fmt.Sprintf("… %d bytes more", long-16<<10)) {
		t.Errorf("%d lines, the first ends with %q", len(lines), lines[0].Text[max(0, len(lines[0].Text)-40):])
	}
}

// The second half of F-092: short lines faster than anybody reads them, as many
// bytes as ten megabytes a second give in half a minute. The writer is never
// held up by a viewer, since there is none; nothing is lost; memory stays small.
func TestF092AFastWriterOfShortLines(t *testing.T) {
	const all = 300_000_000
	s := task(t, fmt.Sprintf("yes 0123456789 | head -c %d; echo written >&2; until [ -e go ]; do sleep 0.05; done", all))
	tree := begin(t, s)
	printed(t, s.Procs[0].Stderr, "written")
	if peak := highWater(t, tree.cmd.Process.Pid); peak > 50<<20 {
		t.Errorf("the guardian took %d MiB", peak>>20)
	}
	if err := os.WriteFile(filepath.Join(s.Procs[0].Dir, "go"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if got := result(t, tree); got.Procs[0].Status != 0 {
		t.Errorf("got %+v", got)
	}
	info, err := os.Stat(s.Procs[0].Stdout)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() != all {
		t.Errorf("%d bytes stored, want %d", info.Size(), all)
	}
}

// highWater is the most memory that a process ever had.
func highWater(t *testing.T, pid int) int64 {
	t.Helper()
	n, ok := kilobytes([]byte(content(t, fmt.Sprintf("/proc/%d/status", pid))), "VmHWM:")
	if !ok {
		t.Fatal("no VmHWM")
	}
	return n
}

func TestOutputIsRotated(t *testing.T) {
	s := task(t, "for i in $(seq 1 1000); do echo line $i; done")
	s.MaxSize, s.Keep = 1000, 3
	run(t, s)
	if size := len(content(t, s.Procs[0].Stdout+".3")); size != 1000 {
		t.Errorf("a part has %d bytes", size)
	}
	lines, err := capture.Tail(s.Procs[0].Stdout, 200)
	if err != nil || len(lines) != 200 || lines[0].Text != "line 801" || lines[199].Text != "line 1000" {
		t.Errorf("%d lines, %v", len(lines), err)
	}
}

func TestOneFileForBothStreamsKeepsTheOrder(t *testing.T) {
	s := task(t, "for i in 1 2 3 4 5; do echo out $i; echo err $i >&2; done")
	s.Procs[0].Stderr = s.Procs[0].Stdout
	run(t, s)
	want := ""
	for i := range 5 {
		want += fmt.Sprintf("out %d\nerr %d\n", i+1, i+1)
	}
	if got := content(t, s.Procs[0].Stdout); got != want {
		t.Errorf("got %q", got)
	}
}

func TestWhatIsPrintedLastIsKept(t *testing.T) {
	s := task(t, "head -c 900000 /dev/zero; echo end; kill -KILL $$")
	run(t, s)
	got := content(t, s.Procs[0].Stdout)
	if len(got) != 900004 || !strings.HasSuffix(got, "end\n") {
		t.Errorf("%d bytes", len(got))
	}
}

// fullDisk runs in namespaces of its own: it mounts a small disk, fills it, and
// runs a task that prints more than fits. When the task has lost output it makes
// room, more than its pipe still holds.
func fullDisk() int {
	dir := os.Args[2]
	fail := func(err error) int {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=4m"); err != nil {
		return fail(err)
	}
	path, err := os.Executable()
	if err != nil {
		return fail(err)
	}
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 3<<20), 0o666); err != nil {
		return fail(err)
	}
	log := filepath.Join(dir, "logs", "0.out")
	tree, err := Start(context.Background(), Spec{
		Guardian: []string{path, "guardian"},
		Limits:   Limits{Watch: true},
		Procs: []Proc{{
			Argv:   []string{"bash", "-c", "head -c 8000000 /dev/zero; rm " + ballast + "; echo room; echo again"},
			Env:    []string{"PATH=" + standardPath},
			Stdout: log, Stderr: log,
		}},
	})
	if err != nil {
		return fail(err)
	}
	r := tree.Result()
	text, err := os.ReadFile(log)
	if err != nil {
		return fail(err)
	}
	// How much was stored before and between the notes is a matter of luck.
	text = bytes.ReplaceAll(text, []byte{0}, nil)
	fmt.Fprintf(os.Stdout, "status %d\n%s", r.Procs[0].Status, text)
	return 0
}

func TestAFullDiskEndsNoTask(t *testing.T) {
	cmd := exec.Command(self(t), "full-disk", t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	got, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, got)
	}
	var lost int
	head, tail, _ := strings.Cut(string(got), " bytes")
	if _, err := fmt.Sscanf(head, "status 0\n\n[muster: %d", &lost); err != nil || lost < 5_000_000 || lost > 8_000_000 {
		t.Errorf("%d bytes lost, %v: %.300q", lost, err, got)
	}
	if want := " of output lost: no space left on device]\nroom\nagain\n"; tail != want {
		t.Errorf("got %.300q", tail)
	}
}
