//go:build hadoop

package history

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/muster-project/muster/hadoop/conf"
	"github.com/muster-project/muster/hadoop/hdfs"
	"github.com/muster-project/muster/hadoop/kerberos"
	"github.com/muster-project/muster/hadoop/rpc"
	"github.com/muster-project/muster/storage"
	hdfsstorage "github.com/muster-project/muster/storage/hdfs"
)

// onHDFS opens the file system of the cluster that HADOOP_CONF_DIR tells.
func onHDFS() (storage.FS, func() error, error) {
	dir := os.Getenv("HADOOP_CONF_DIR")
	if dir == "" {
		return nil, nil, errors.New("HADOOP_CONF_DIR: not set: these tests need a cluster")
	}
	c, err := conf.Load(dir)
	if err != nil {
		return nil, nil, err
	}
	auth, leave, err := root(c)
	if err != nil {
		return nil, nil, err
	}
	client, err := hdfs.New(c, auth)
	if err != nil {
		return nil, nil, err
	}
	return hdfsstorage.New(client), func() error { return errors.Join(client.Close(), leave()) }, nil
}

// root is how it is called by its owner: on a cluster with Kerberos by a keytab.
func root(c *conf.Conf) (auth hdfs.Auth, leave func() error, err error) {
	if c.String("hadoop.security.authentication", "simple") == "simple" {
		return func(context.Context) (rpc.Auth, error) { return rpc.Auth{User: "root"}, nil }, func() error { return nil }, nil
	}
	login, err := kerberos.Open(kerberos.Source{Keytab: filepath.Join(os.Getenv("MUSTER_KEYTABS"), "root.keytab"),
		Principal: "root@LAB.TEST", Getenv: os.Getenv})
	if err != nil {
		return nil, nil, err
	}
	proof := login.Service(c.String("dfs.namenode.kerberos.principal", ""))
	return func(context.Context) (rpc.Auth, error) { return rpc.Auth{Kerberos: proof}, nil }, login.Close, nil
}

// job is a job's directory on the cluster.
func job(t testing.TB) (storage.FS, string) {
	t.Helper()
	fsys, closeAll, err := onHDFS()
	if err != nil {
		t.Fatal(err)
	}
	dir := "/tmp/muster-history-test/" + strings.ReplaceAll(t.Name(), "/", "-")
	ctx := context.WithoutCancel(t.Context())
	if err := errors.Join(fsys.Remove(ctx, dir), fsys.Mkdir(ctx, dir, 0o700)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(fsys.Remove(ctx, dir), closeAll()); err != nil {
			t.Error(err)
		}
	})
	return fsys, dir
}

// writerDir makes a process of this test binary a coordinator that appends.
const writerDir = "MUSTER_TEST_JOURNAL"

func child() bool {
	dir := os.Getenv(writerDir)
	if dir != "" {
		fmt.Println("end:", appendForEver(dir)) //nolint:forbidigo // to the test that started it
	}
	return dir != ""
}

// appendForEver says each event that it may act on.
func appendForEver(dir string) error {
	fsys, closeAll, err := onHDFS()
	if err != nil {
		return err
	}
	defer func() { _ = closeAll() }() // the process ends
	ctx := context.Background()
	j, _, err := Open(ctx, fsys, dir, me, noon)
	if err != nil {
		return err
	}
	defer func() { _ = j.Close() }() // it is fenced
	for n := 0; ; n++ {
		batch := said(fmt.Sprintf("p%d n%d", os.Getpid(), n), strings.Repeat("x", n%700))
		for {
			err := j.Append(ctx, batch)
			if err == nil {
				break
			}
			if errors.Is(err, ErrSuperseded) {
				return err
			}
			fmt.Println("again:", err) //nolint:forbidigo // to the test that started it
		}
		for _, w := range words(batch) {
			fmt.Println("acted:", w) //nolint:forbidigo // to the test that started it
		}
	}
}

// coordinatorProcess is one that appends.
type coordinatorProcess struct {
	cmd *exec.Cmd
	out *bufio.Scanner
}

func startCoordinator(t *testing.T, dir string) *coordinatorProcess {
	t.Helper()
	p := &coordinatorProcess{cmd: exec.CommandContext(t.Context(), os.Args[0])}
	p.cmd.Env = append(os.Environ(), writerDir+"="+dir)
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewScanner(out)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

// acted reads what it says, at most n events, or to its end.
func (p *coordinatorProcess) acted(t *testing.T, n int) (acted []string, end string) {
	t.Helper()
	for len(acted) < n && p.out.Scan() {
		what, text, _ := strings.Cut(p.out.Text(), ": ")
		switch what {
		case "acted":
			acted = append(acted, text)
		case "end":
			end = text
		default:
			t.Log(p.out.Text())
		}
	}
	return acted, end
}

func (p *coordinatorProcess) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// takeOver opens the journal and tells how long that took.
func takeOver(t *testing.T, fsys storage.FS, dir string) (*Journal, time.Duration) {
	t.Helper()
	begun := time.Now()
	j, _, err := Open(t.Context(), fsys, dir, me, noon)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(); err != nil {
			t.Log(err) // where the test has it succeeded
		}
	})
	return j, time.Since(begun)
}

// wantActed says that all that was acted on is in the journal, at its place.
func wantActed(t *testing.T, fsys storage.FS, dir string, acted []string) {
	t.Helper()
	events, err := collect(Read(t.Context(), fsys, dir, 1))
	if err != nil {
		t.Fatal(err)
	}
	have := words(events)
	for _, w := range acted {
		n, _, _ := strings.Cut(w, " ")
		seq, err := strconv.Atoi(n)
		if err != nil || seq > len(have) || have[seq-1] != w {
			t.Fatalf("acted on %q, which is not in the journal of %d events", w, len(have))
		}
	}
	t.Logf("%d events acted on, all in the journal of %d", len(acted), len(have))
	inTurn(t, have)
}

// inTurn says that of what each process wrote nothing is missing in the middle,
// and nothing is there twice.
func inTurn(t *testing.T, have []string) {
	t.Helper()
	next := map[string]int{}
	for _, w := range have {
		i, j := strings.Index(w, " p"), strings.LastIndex(w, " n")
		if i < 0 || j < i {
			continue // of another kind
		}
		process, n := w[i+1:j], w[j+2:]
		k, err := strconv.Atoi(n)
		if err != nil {
			continue
		}
		if k != next[process] {
			t.Errorf("%s: %d comes where %d should", process, k, next[process])
		}
		next[process] = k + 1
	}
}

// appended appends some batches and gives what may be acted on, with the longest
// time that one took.
func appended(t *testing.T, j *Journal, n int) (acted []string, longest time.Duration) {
	t.Helper()
	for i := range n {
		batch := said("value "+strconv.Itoa(i), "another")
		begun := time.Now()
		for {
			err := j.Append(t.Context(), batch)
			if err == nil {
				break
			}
			t.Log(err)
			if time.Since(begun) > 2*time.Minute {
				t.Fatal(err)
			}
		}
		longest = max(longest, time.Since(begun))
		acted = append(acted, words(batch)...)
	}
	return acted, longest
}

func TestOnHDFSAKilledCoordinatorIsSucceeded(t *testing.T) {
	for round := range 3 {
		t.Run(strconv.Itoa(round), func(t *testing.T) {
			fsys, dir := job(t)
			p := startCoordinator(t, dir)
			acted, _ := p.acted(t, 100+37*round)
			p.signal(t, syscall.SIGKILL)
			rest, _ := p.acted(t, 1<<30)
			_ = p.cmd.Wait() // it was killed
			j, took := takeOver(t, fsys, dir)
			t.Logf("taken over in %v", took)
			if took > 8*time.Second { // 3 s and what a busy machine adds
				t.Errorf("taken over only after %v", took)
			}
			add(t, j, said("goes on"))
			wantActed(t, fsys, dir, append(acted, rest...))
			closed, err := fsys.(*hdfsstorage.FS).Client().Closed(t.Context(), segmentPath(dir, 1))
			if err != nil || !closed {
				t.Errorf("the old segment is closed: %v, %v", closed, err)
			}
		})
	}
}

func TestOnHDFSAStoppedCoordinatorIsFenced(t *testing.T) {
	fsys, dir := job(t)
	p := startCoordinator(t, dir)
	acted, _ := p.acted(t, 100)
	p.signal(t, syscall.SIGSTOP)
	j, took := takeOver(t, fsys, dir)
	t.Logf("taken over in %v", took)
	add(t, j, said("goes on"))
	before := j.Seq()
	p.signal(t, syscall.SIGCONT)
	rest, end := p.acted(t, 1<<30)
	_ = p.cmd.Wait() // it ended by itself
	if !strings.Contains(end, ErrSuperseded.Error()) {
		t.Errorf("it ended with %q", end)
	}
	wantActed(t, fsys, dir, append(acted, rest...))
	add(t, j, said("still goes on"))
	if j.Seq() != before+1 || j.Term() != 2 {
		t.Errorf("event %d of term %d", j.Seq(), j.Term())
	}
}

// A coordinator that is alive and appends as fast as it can: nothing it acted on
// is lost, and it notices.
func TestOnHDFSABusyCoordinatorIsSucceeded(t *testing.T) {
	for round := range 3 {
		t.Run(strconv.Itoa(round), func(t *testing.T) {
			fsys, dir := job(t)
			p := startCoordinator(t, dir)
			acted, _ := p.acted(t, 400)
			rest := make(chan []string)
			var end string
			go func() {
				more, e := p.acted(t, 1<<30)
				end = e
				rest <- more
			}()
			j, took := takeOver(t, fsys, dir)
			t.Logf("taken over in %v", took)
			add(t, j, said("goes on"))
			acted = append(acted, <-rest...)
			_ = p.cmd.Wait() // it ended by itself
			if !strings.Contains(end, ErrSuperseded.Error()) {
				t.Errorf("it ended with %q", end)
			}
			wantActed(t, fsys, dir, acted)
		})
	}
}

func TestOnHDFSEveryWriteEndsABlock(t *testing.T) {
	fsys, dir := job(t)
	j, _ := takeOver(t, fsys, dir)
	for i := range 50 {
		add(t, j, said(strings.Repeat("x", 13*i)))
	}
	r, err := fsys.Open(t.Context(), segmentPath(dir, 1), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if text, err := io.ReadAll(r); err != nil || len(text) == 0 || len(text)%512 != 0 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}

func BenchmarkAppendOnHDFS(b *testing.B) {
	for _, n := range []int{1, 10, 100} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			fsys, dir := job(b)
			j, _, err := Open(b.Context(), fsys, dir, me, noon)
			if err != nil {
				b.Fatal(err)
			}
			values := make([]string, n)
			for i := range values {
				values[i] = "a value of middling length"
			}
			batch := said(values...)
			for b.Loop() {
				if err := j.Append(b.Context(), batch); err != nil {
					b.Fatal(err)
				}
			}
			if err := j.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}
