//go:build hadoop

package hdfs

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/muster-project/muster/hadoop/conf"
	"github.com/muster-project/muster/hadoop/rpc"
)

// asUser makes a client of the cluster that HADOOP_CONF_DIR tells.
func asUser(t testing.TB, user string) *Client {
	t.Helper()
	client, err := open(user)
	must(t, err)
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return client
}

func open(user string) (*Client, error) {
	dir := os.Getenv("HADOOP_CONF_DIR")
	if dir == "" {
		return nil, errors.New("HADOOP_CONF_DIR: not set: these tests need a cluster")
	}
	c, err := conf.Load(dir)
	if err != nil {
		return nil, err
	}
	return New(c, func(context.Context) (rpc.Auth, error) { return rpc.Auth{User: user}, nil })
}

// scratch is a directory of the test's own.
func scratch(t testing.TB, c *Client) string {
	t.Helper()
	return scratchIn(t, c, "/tmp/muster-hdfs-test")
}

func scratchIn(t testing.TB, c *Client, above string) string {
	t.Helper()
	dir := above + "/" + strings.ReplaceAll(t.Name(), "/", "-")
	ctx := context.WithoutCancel(t.Context())
	if _, err := c.Delete(ctx, dir); err != nil {
		t.Fatal(err)
	}
	if err := c.Mkdir(ctx, dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := c.Delete(ctx, dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func content(t testing.TB, c *Client, path string, offset int64) []byte {
	t.Helper()
	r, err := c.Open(t.Context(), path, offset)
	must(t, err)
	defer r.Close()
	b, err := io.ReadAll(r)
	must(t, err)
	return b
}

func random(t testing.TB, n int) []byte {
	t.Helper()
	b := make([]byte, n)
	_, err := rand.Read(b)
	must(t, err)
	return b
}

func TestABinaryGoesUpInASecond(t *testing.T) {
	c := asUser(t, "root")
	dir := scratch(t, c)
	data := random(t, 20<<20)
	for name, size := range map[string]int64{"in one block": 32 << 20, "in many blocks": 1 << 20} {
		path := dir + "/" + name
		begun := time.Now()
		w, err := c.Create(t.Context(), path, Options{Mode: 0o755, BlockSize: size})
		must(t, err)
		_, err = w.Write(data)
		must(t, err)
		must(t, w.Close())
		up := time.Since(begun)
		begun = time.Now()
		if !bytes.Equal(content(t, c, path, 0), data) {
			t.Fatalf("%s: not what was written", name)
		}
		t.Logf("%s: 20 MiB up in %v, down in %v", name, up, time.Since(begun))
		if up > 5*time.Second { // five times what it takes on a busy machine
			t.Errorf("%s: 20 MiB took %v", name, up)
		}
		info, err := c.Stat(t.Context(), path)
		must(t, err)
		if info.Size() != 20<<20 || info.BlockSize() != size || info.Mode() != 0o755 || info.Owner() != "root" {
			t.Errorf("%s: %d bytes in blocks of %d, %v, owner %s", name, info.Size(), info.BlockSize(), info.Mode(), info.Owner())
		}
	}
}

// Whatever is written and flushed in whatever pieces, over block ends, is read
// from whatever offset while the file is open.
func TestWhatIsFlushedIsReadByOthers(t *testing.T) {
	c, other := asUser(t, "root"), asUser(t, "root")
	dir := scratch(t, c)
	data := random(t, 3<<20)
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		path := fmt.Sprintf("%s/%d", dir, n)
		ctx := context.Background()
		w, err := c.Create(ctx, path, Options{Mode: 0o600, BlockSize: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		size, flushed := 0, 0
		read := func(offset int) {
			r, err := other.Open(ctx, path, int64(offset))
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(r)
			if err := errors.Join(err, r.Close()); err != nil {
				t.Fatal(err)
			}
			if !bytes.HasPrefix(data[min(offset, size):size], got) || len(got) < flushed-offset {
				t.Fatalf("%d bytes from %d, of %d, %d flushed", len(got), offset, size, flushed)
			}
		}
		lengths := rapid.OneOf(rapid.IntRange(0, 1500), rapid.SampledFrom([]int{512, packetData, packetData - 1, 1 << 20, 1<<20 + 1}))
		for range rapid.IntRange(1, 8).Draw(t, "steps") {
			k := min(lengths.Draw(t, "write"), len(data)-size)
			if _, err := w.Write(data[size : size+k]); err != nil {
				t.Fatal(err)
			}
			size += k
			switch rapid.IntRange(0, 3).Draw(t, "then") {
			case 0:
				err, flushed = w.Flush(ctx), size
			case 1:
				err, flushed = w.Sync(ctx), size
			case 2:
				read(rapid.IntRange(0, size+10).Draw(t, "offset"))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		flushed = size
		read(rapid.IntRange(0, size+10).Draw(t, "offset"))
		read(0)
	})
}

// childPath makes a process of this test binary one that creates files there.
const childPath = "MUSTER_TEST_CREATE"

func TestMain(m *testing.M) {
	if path := os.Getenv(childPath); path != "" {
		if err := race(path); err != nil {
			fmt.Println(err) //nolint:forbidigo // to the test that started it
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// race is what each of the processes does that TestEightProcessesRace starts.
func race(dir string) (err error) {
	c, err := open("root")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	ctx := context.Background()
	if _, err := c.Stat(ctx, "/"); err != nil { // the connection is there
		return err
	}
	fmt.Println("ready") //nolint:forbidigo // to the test that started it
	if _, err := os.Stdin.Read(make([]byte, 1)); err != nil {
		return err
	}
	for i := range files {
		w, err := c.Create(ctx, fmt.Sprintf("%s/%d", dir, i), Options{Mode: 0o600})
		switch {
		case err == nil:
			fmt.Println("won", i) //nolint:forbidigo // to the test that started it
			if err := w.Close(); err != nil {
				return err
			}
		case errors.Is(err, fs.ErrExist):
			fmt.Println("lost", i) //nolint:forbidigo // to the test that started it
		default:
			return err
		}
	}
	return nil
}

const files = 10

func TestEightProcessesRace(t *testing.T) {
	c := asUser(t, "root")
	dir := scratch(t, c)
	type racer struct {
		cmd *exec.Cmd
		in  io.WriteCloser
		out *bufio.Reader
	}
	racers := make([]*racer, 8)
	for i := range racers {
		r := &racer{cmd: exec.CommandContext(t.Context(), os.Args[0])}
		r.cmd.Env = append(os.Environ(), childPath+"="+dir)
		out, err := r.cmd.StdoutPipe()
		must(t, err)
		r.out = bufio.NewReader(out)
		r.in, err = r.cmd.StdinPipe()
		must(t, err)
		must(t, r.cmd.Start())
		racers[i] = r
	}
	for _, r := range racers {
		if line, err := r.out.ReadString('\n'); err != nil || line != "ready\n" {
			t.Fatalf("%q, %v", line, err)
		}
	}
	for _, r := range racers {
		_, err := r.in.Write([]byte{'\n'})
		must(t, err)
	}
	won, lost := 0, 0
	for _, r := range racers {
		out, err := io.ReadAll(r.out)
		if err := errors.Join(err, r.cmd.Wait()); err != nil {
			t.Error(err)
		}
		won += strings.Count(string(out), "won ")
		lost += strings.Count(string(out), "lost ")
	}
	if won != files || lost != 7*files {
		t.Errorf("%d files were won %d times and lost %d times", files, won, lost)
	}
}

func TestAWriterIsFencedByLeaseRecovery(t *testing.T) {
	c, other := asUser(t, "root"), asUser(t, "root")
	dir := scratch(t, c)
	stages := []struct {
		name  string
		reach func(w *Writer) error
		want  string
	}{
		{"nothing was written", func(*Writer) error { return nil }, ""},
		{"a block was asked for", func(w *Writer) error { _, err := w.addBlock(context.Background()); return err }, ""},
		{"a pipeline is up", func(w *Writer) (err error) { w.out, err = w.openBlock(context.Background()); return err }, ""},
		{"bytes were flushed", func(w *Writer) error {
			_, err := w.Write([]byte("abc"))
			return errors.Join(err, w.Flush(context.Background()))
		}, "abc"},
	}
	for i, s := range stages {
		t.Run(s.name, func(t *testing.T) {
			path := fmt.Sprintf("%s/%d", dir, i)
			w, err := c.Create(t.Context(), path, Options{Mode: 0o600})
			must(t, err)
			must(t, s.reach(w))
			if got := string(content(t, other, path, 0)); got != s.want {
				t.Errorf("before: %q", got)
			}
			begun := time.Now()
			done, err := other.RecoverLease(t.Context(), path)
			must(t, err)
			for !done {
				must(t, sleep(t.Context(), 20*time.Millisecond))
				done, err = other.Closed(t.Context(), path)
				must(t, err)
			}
			t.Logf("closed after %v", time.Since(begun))
			_, err = w.Write([]byte("late"))
			if err == nil {
				err = w.Flush(t.Context())
			}
			if err == nil || w.Err() == nil {
				t.Errorf("the old writer goes on: %v", err)
			}
			if err := w.Close(); err == nil {
				t.Error("it closes as if nothing were")
			}
			if got := string(content(t, other, path, 0)); got != s.want {
				t.Errorf("after: %q", got)
			}
		})
	}
}

func TestAWriterThatFailedLeavesNothingOpen(t *testing.T) {
	c := asUser(t, "root")
	path := scratch(t, c) + "/file"
	w, err := c.Create(t.Context(), path, Options{Mode: 0o600})
	must(t, err)
	_, err = w.Write([]byte("abc"))
	must(t, err)
	must(t, w.Flush(t.Context()))
	must(t, w.out.conn.Close()) // as if the DataNode had hung up
	_, err = w.Write([]byte("d"))
	if err = errors.Join(err, w.Flush(t.Context())); err == nil || w.Err() == nil {
		t.Fatalf("it goes on: %v", err)
	}
	if err := w.Close(); err == nil {
		t.Error("it closes as if nothing were")
	}
	begun := time.Now()
	for closed := false; !closed; {
		must(t, sleep(t.Context(), 20*time.Millisecond))
		closed, err = c.Closed(t.Context(), path)
		must(t, err)
		if time.Since(begun) > 20*time.Second {
			t.Fatal("it is still open")
		}
	}
	t.Logf("closed after %v", time.Since(begun))
	if got := string(content(t, c, path, 0)); got != "abc" && got != "abcd" {
		t.Errorf("got %q", got)
	}
}

func TestAnIdleFileIsKeptOpen(t *testing.T) {
	c := asUser(t, "root")
	c.renewal = 50 * time.Millisecond
	path := scratch(t, c) + "/idle"
	w, err := c.Create(t.Context(), path, Options{Mode: 0o600})
	must(t, err)
	_, err = w.Write([]byte("abc"))
	must(t, err)
	must(t, w.Flush(t.Context()))
	// Twenty beats and renewals, among them writes: each beat is acknowledged.
	for range 20 {
		must(t, sleep(t.Context(), 60*time.Millisecond))
		_, err = w.Write([]byte("d"))
		must(t, err)
		must(t, w.Flush(t.Context()))
	}
	must(t, w.Close())
	if got := string(content(t, c, path, 0)); got != "abc"+strings.Repeat("d", 20) {
		t.Errorf("got %q", got)
	}
}

func TestWhatANameNodeRefuses(t *testing.T) {
	root, bob := asUser(t, "root"), asUser(t, "bob")
	dir := scratch(t, root)
	must(t, root.Mkdir(t.Context(), dir+"/sub", 0o755))
	w, err := root.Create(t.Context(), dir+"/open", Options{Mode: 0o600})
	must(t, err)
	defer func() { must(t, w.Close()) }()
	for name, tc := range map[string]struct {
		err  error
		is   error
		text string
	}{
		"a right":     {second(bob.Create(t.Context(), dir+"/x", Options{})), fs.ErrPermission, dir + "/x: cannot create: permission denied: user=bob, access=WRITE"},
		"reading":     {second(bob.Open(t.Context(), dir+"/open", 0)), fs.ErrPermission, dir + "/open: cannot open: permission denied: user=bob, access=READ"},
		"an owner":    {bob.SetOwner(t.Context(), dir, "bob", ""), fs.ErrPermission, dir + ": cannot set owner: permission denied"},
		"a directory": {second(root.Open(t.Context(), dir, 0)), syscall.EISDIR, dir + ": cannot open: is a directory"},
		"a file":      {second(root.List(t.Context(), dir+"/open")), syscall.ENOTDIR, dir + "/open: cannot list: not a directory"},
		"an open one": {second(root.Create(t.Context(), dir+"/open", Options{})), fs.ErrExist, dir + "/open: cannot create: file already exists and is open for writing"},
		"nothing":     {second(root.Stat(t.Context(), dir+"/none")), fs.ErrNotExist, dir + "/none: cannot stat: file does not exist"},
		"into itself": {root.Rename(t.Context(), dir, dir+"/sub/x"), nil, dir + ": cannot rename to " + dir + "/sub/x"},
		"a token":     {second(root.DelegationToken(t.Context(), "yarn")), nil, "no delegation token"},
	} {
		if tc.err == nil || tc.is != nil && !errors.Is(tc.err, tc.is) || !strings.Contains(tc.err.Error(), tc.text) {
			t.Errorf("%s: got %v, want %s", name, tc.err, tc.text)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestModesTimesAndOwners(t *testing.T) {
	c := asUser(t, "root")
	dir := scratch(t, c)
	must(t, c.Mkdir(t.Context(), dir+"/shared", fs.ModeSticky|0o777))
	w, err := c.Create(t.Context(), dir+"/shared/run", Options{Mode: 0o755, Replication: 1})
	must(t, err)
	must(t, w.Close())
	at := time.Date(2001, time.February, 3, 4, 5, 6, 789e6, time.UTC)
	must(t, c.SetTimes(t.Context(), dir+"/shared/run", at))
	must(t, c.SetOwner(t.Context(), dir+"/shared/run", "alice", "staff"))
	list, err := c.List(t.Context(), dir+"/shared")
	must(t, err)
	d, err := c.Stat(t.Context(), dir+"/shared")
	must(t, err)
	if d.Mode() != fs.ModeDir|fs.ModeSticky|0o777 || len(list) != 1 {
		t.Fatalf("%v, %d files", d.Mode(), len(list))
	}
	f := list[0]
	want := []any{"run", fs.FileMode(0o755), at, "alice", "staff", 1}
	if diff := cmp.Diff(want, []any{f.Name(), f.Mode(), f.ModTime().UTC(), f.Owner(), f.Group(), f.Replication()}); diff != "" {
		t.Error(diff)
	}
	must(t, c.SetPermission(t.Context(), dir+"/shared/run", 0o700))
	f, err = c.Stat(t.Context(), dir+"/shared/run")
	must(t, err)
	if f.Mode() != 0o700 {
		t.Errorf("got %v", f.Mode())
	}
}

func TestListsAreWhole(t *testing.T) {
	c := asUser(t, "root")
	dir := scratch(t, c)
	const n = 1200 // more than a NameNode gives at once
	for i := range n {
		must(t, c.Mkdir(t.Context(), fmt.Sprintf("%s/%04d", dir, i), 0o700))
	}
	list, err := c.List(t.Context(), dir)
	must(t, err)
	for i, f := range list {
		if f.Name() != fmt.Sprintf("%04d", i) {
			t.Fatalf("%d: %s", i, f.Name())
		}
	}
	if len(list) != n {
		t.Errorf("%d of %d", len(list), n)
	}
}

func BenchmarkFlush(b *testing.B) {
	c := asUser(b, "root")
	dir := scratch(b, c)
	for name, sync := range map[string]func(*Writer, context.Context) error{"flush": (*Writer).Flush, "sync": (*Writer).Sync} {
		b.Run(name, func(b *testing.B) {
			w, err := c.Create(b.Context(), dir+"/"+rand.Text(), Options{})
			must(b, err)
			record := make([]byte, chunk)
			for b.Loop() {
				_, err := w.Write(record)
				must(b, err)
				must(b, sync(w, b.Context()))
			}
			must(b, w.Close())
		})
	}
}
