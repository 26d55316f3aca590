package wire

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/wire/internal/pb"
)

// BenchmarkRollCall connects N executors, lets each register, and starts them
// once all have. The coordinator is a process of its own, so that what it costs
// can be told from what its executors cost. "bare" is the same over TLS frames
// without any of wire: what the transport alone costs.
//
//	go test ./wire -run '^$' -bench RollCall -benchtime 1x
func BenchmarkRollCall(b *testing.B) {
	for _, kind := range []string{"bare", "wire"} {
		for _, n := range []int{1000, 10_000} {
			b.Run(fmt.Sprintf("%s/%d", kind, n), func(b *testing.B) {
				for range b.N {
					rollCall(b, kind, n)
				}
			})
		}
	}
}

// patient limits: nobody beats during the roll call, and the machine may be busy.
var patient = Limits{Greeting: 5 * time.Minute, Idle: time.Hour, Handshakes: 8}

func rollCall(b *testing.B, kind string, n int) {
	auth, err := NewAuthority(jobID)
	if err != nil {
		b.Fatal(err)
	}
	confs := make([]*tls.Config, n)
	for i := range confs {
		cert, key, err := auth.Issue(plan.TaskID{Role: "worker", Index: i})
		if err == nil {
			confs[i], err = Executor(auth.Certificate(), cert, key)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	s := serverProcess(b, auth, kind, n)
	defer s.end()
	before := s.stat()
	begin := time.Now()
	gate := make(chan struct{}, 512)
	var wg sync.WaitGroup
	conns := make([]*Conn, n)
	var first sync.Once // error is enough
	for i := range n {
		wg.Go(func() {
			gate <- struct{}{}
			task := plan.TaskID{Role: "worker", Index: i}
			c, _, err := Dialer{Limits: patient}.Dial(b.Context(), s.addr, confs[i], hello(task))
			<-gate
			if err == nil {
				conns[i] = c
				err = c.Send(Message{Registered: &Registered{Incarnation: 1, Host: "10.0.0.1", Ports: map[string]int{"main": 40000}}})
			}
			if err == nil {
				_, err = c.Recv()
			}
			if err != nil {
				first.Do(func() { b.Error(err) })
			}
		})
	}
	wg.Wait()
	took := time.Since(begin)
	after := s.stat()
	b.ReportMetric(took.Seconds(), "s/rollcall")
	b.ReportMetric((after.CPU - before.CPU).Seconds(), "cpu-s")
	b.ReportMetric(float64(after.Peak)/(1<<20), "peak-MiB")
	b.ReportMetric(float64(after.RSS)/(1<<20), "rss-MiB")
	b.ReportMetric(float64(after.RSS-before.RSS)/1024/float64(n), "KiB/conn")
	b.ReportMetric(float64(after.Goroutines-before.Goroutines)/float64(n), "goroutines/conn")
	if kind == "wire" {
		beats(b, s, conns)
	}
	for _, c := range conns {
		if c != nil {
			c.fail(ErrClosed)
			c.wg.Wait()
		}
	}
}

// beats measures what one beat with its answer costs the coordinator.
func beats(b *testing.B, s *served, conns []*Conn) {
	var wg sync.WaitGroup
	for _, c := range conns {
		if c != nil {
			wg.Go(func() {
				for {
					if _, err := c.Recv(); err != nil {
						return
					}
				}
			})
		}
	}
	s.stat()
	before, sent := s.stat(), 0
	tick := time.NewTicker(5 * time.Second / time.Duration(len(conns)))
	for _, c := range conns {
		<-tick.C
		if c != nil && c.Send(Message{Beat: &Beat{Incarnation: 1, Sent: time.Now(), Usage: Usage{Memory: 1 << 30, Procs: 2}}}) == nil {
			sent++
		}
	}
	tick.Stop()
	after := s.stat()
	b.ReportMetric(float64((after.CPU-before.CPU).Microseconds())/float64(sent), "µs/beat")
	for _, c := range conns {
		if c != nil {
			c.fail(ErrClosed)
		}
	}
	wg.Wait()
}

// stat is what a server process says of itself.
type stat struct {
	RSS, Peak  int64
	CPU        time.Duration
	Goroutines int
}

type served struct {
	b    *testing.B
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	addr string
}

func serverProcess(b *testing.B, auth *Authority, kind string, n int) *served {
	text, err := auth.Marshal()
	if err != nil {
		b.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	s := &served{b: b, cmd: exec.Command(exe, "server", kind, fmt.Sprint(n), string(text))}
	s.cmd.Env = append(os.Environ(), "GOGC=50")
	s.cmd.Stderr = os.Stderr
	in, err := s.cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	s.in, s.out = in, bufio.NewReader(out)
	s.addr = strings.TrimSpace(s.line())
	return s
}

func (s *served) line() string {
	text, err := s.out.ReadString('\n')
	if err != nil {
		s.b.Fatal(err)
	}
	return text
}

func (s *served) stat() stat {
	if _, err := io.WriteString(s.in, "stat\n"); err != nil {
		s.b.Fatal(err)
	}
	var st stat
	if err := json.Unmarshal([]byte(s.line()), &st); err != nil {
		s.b.Fatal(err)
	}
	return st
}

func (s *served) end() {
	_ = s.in.Close()
	_ = s.cmd.Wait()
}

// serverMain is the coordinator of the benchmark.
func serverMain(kind, count, authority string) error {
	auth, err := ParseAuthority([]byte(authority))
	if err != nil {
		return err
	}
	conf, err := auth.Coordinator()
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	var n int
	if _, err := fmt.Sscan(count, &n); err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, ln.Addr())
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		if kind == "bare" {
			bare(ln, conf, n)
			return
		}
		_ = (&Server{TLS: conf, Handler: &caller{n: int64(n)}, Limits: patient}).Serve(ctx, ln)
	}()
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		st := measure()
		if err := json.NewEncoder(os.Stdout).Encode(st); err != nil {
			return err
		}
	}
	return nil
}

func measure() stat {
	peak := status("VmHWM:")
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // before the garbage collections below
	for range 4 {
		runtime.GC()
	}
	debug.FreeOSMemory()
	return stat{RSS: status("VmRSS:"), Peak: peak, CPU: time.Duration(u.Utime.Nano() + u.Stime.Nano()), Goroutines: runtime.NumGoroutine()}
}

func status(key string) int64 {
	text, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(text), key)
	var kib int64
	_, _ = fmt.Sscan(rest, &kib)
	return kib * 1024
}

var benchLaunch = plan.Launch{Argv: []string{"python", "train.py"}, Env: map[string]string{"MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "40000", "RANK": "1", "WORLD_SIZE": "1000"}}

// caller starts all executors once all have registered.
type caller struct {
	n     int64
	have  atomic.Int64
	mu    sync.Mutex
	links []*Link
}

func (c *caller) Linked(l *Link, _ Hello) (Welcome, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.links = append(c.links, l)
	return Welcome{Term: 1, Beat: 10 * time.Second}, nil
}

func (c *caller) Received(_ *Link, m Message) {
	if m.Registered == nil || c.have.Add(1) != c.n {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.links {
		_ = l.Send(Directive{Start: &Start{Incarnation: 1, Launch: benchLaunch}})
	}
}

func (c *caller) Unlinked(*Link, error) {}

// bare is the transport without wire: handshake at most 8 at once, read frames
// in a fresh goroutine, answer hello and the last registration.
func bare(ln net.Listener, conf *tls.Config, n int) {
	gate := make(chan struct{}, 8)
	var mu sync.Mutex
	var conns []*tls.Conn
	registered := 0
	for {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		go func() {
			c := tls.Server(conn, conf)
			gate <- struct{}{}
			err := c.Handshake()
			<-gate
			if err != nil {
				return
			}
			go func() {
				for {
					var up pb.Up
					if decode(c, &up, 1<<20) != nil {
						return
					}
					mu.Lock()
					if up.GetHello() != nil {
						conns = append(conns, c)
						_ = writeDown(c, &pb.Down{Kind: &pb.Down_Welcome{Welcome: &pb.Welcome{Version: Version, Beat: int64(time.Second)}}})
					}
					if up.GetRegistered() != nil {
						if registered++; registered == n {
							for _, c := range conns {
								_ = writeDown(c, directiveDown(Directive{Start: &Start{Incarnation: 1, Launch: benchLaunch}}))
							}
						}
					}
					mu.Unlock()
				}
			}()
		}()
	}
}

func writeDown(c *tls.Conn, d *pb.Down) error {
	frame, err := encode(d, 1<<20)
	if err != nil {
		return err
	}
	_, err = c.Write(frame)
	return errors.Join(err)
}
