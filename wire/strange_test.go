package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/wire/internal/pb"
)

var quiet = slog.New(slog.DiscardHandler)

// raw makes a TLS connection without a hello.
func (s *site) raw(conf *tls.Config) *tls.Conn {
	s.t.Helper()
	conn, err := tls.Dial("tcp", s.addr, conf)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// ends waits until the server has closed the connection.
func ends(t *testing.T, conn net.Conn) {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.Copy(io.Discard, conn); err != nil {
		if nerr, ok := errors.AsType[net.Error](err); ok && nerr.Timeout() {
			t.Error("the connection was left open")
		}
	}
}

func TestStrangersAreNotLinked(t *testing.T) {
	other, err := NewAuthority(jobID) // of the same name
	if err != nil {
		t.Fatal(err)
	}
	stranger := func(t *testing.T, s *site) *tls.Config {
		cert, key, err := other.Issue(worker)
		if err != nil {
			t.Fatal(err)
		}
		conf, err := Executor(s.auth.Certificate(), cert, key)
		if err != nil {
			t.Fatal(err)
		}
		return conf
	}
	tc := map[string]struct {
		conf func(t *testing.T, s *site) *tls.Config
		h    Hello
		want string
	}{
		"another authority": {stranger, hello(worker), ""},
		"no certificate": {func(*testing.T, *site) *tls.Config {
			return &tls.Config{InsecureSkipVerify: true}
		}, hello(worker), ""},
		"another task's certificate": {func(_ *testing.T, s *site) *tls.Config {
			return s.executor(plan.TaskID{Role: "worker", Index: 4})
		}, hello(worker), "certificate says"},
		"another job in the hello": {func(_ *testing.T, s *site) *tls.Config { return s.executor(worker) },
			Hello{Job: "m-other", Task: worker}, "certificate says"},
		"a coordinator's certificate": {func(t *testing.T, s *site) *tls.Config {
			conf, err := s.auth.Coordinator()
			if err != nil {
				t.Fatal(err)
			}
			conf.VerifyConnection = nil
			return conf
		}, hello(worker), ""},
	}
	for name, tc := range tc {
		t.Run(name, func(t *testing.T) {
			d := &desk{beat: time.Second}
			s := newSite(t, d, Limits{})
			_, _, err := Dial(t.Context(), s.addr, tc.conf(t, s), tc.h)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want …%s…", err, tc.want)
			}
			if n := look(d, func() int { return len(d.links) }); n != 0 {
				t.Error("was linked")
			}
		})
	}
}

func TestAnImpostorCoordinatorIsNotTrusted(t *testing.T) {
	s := newSite(t, &desk{}, Limits{})
	ln, err := tls.Listen("tcp", "127.0.0.1:0", s.executor(plan.TaskID{Role: "worker"})) // a task, not the coordinator
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if conn, err := ln.Accept(); err == nil {
			_, _ = io.Copy(io.Discard, conn)
			_ = conn.Close()
		}
	}()
	_, _, err = Dial(t.Context(), ln.Addr().String(), s.executor(worker), hello(worker))
	is(t, err, ErrIdentity)
	<-done
}

func TestVersionsThatDifferAreNamedToBoth(t *testing.T) {
	s := newSite(t, &desk{}, Limits{})
	conn := s.raw(s.executor(worker))
	up := helloUp(hello(worker))
	up.GetHello().Version, up.GetHello().Binary = 9, "3.2"
	frame, err := encode(up, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write(frame); err != nil {
		t.Fatal(err)
	}
	var down pb.Down
	if err := decode(conn, &down, 1<<20); err != nil {
		t.Fatal(err)
	}
	err = refusal(down.GetRefusal())
	is(t, err, ErrVersion)
	const want = "executor (muster 3.2) speaks version 9, coordinator (muster 1.0) speaks version 1"
	if !strings.Contains(fmt.Sprint(err), want) {
		t.Errorf("got %v", err)
	}
}

func TestGarbageEndsTheConnectionAndNothingElse(t *testing.T) {
	frame := func(u *pb.Up) string {
		b, err := encode(u, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	tc := map[string]string{
		"http":           "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"too long":       "\xff\xff\xff\xff",
		"no protobuf":    "\x00\x00\x00\x03\xff\xff\xff",
		"empty frame":    "\x00\x00\x00\x00",
		"no hello first": frame(messageUp(Message{Ready: &Ready{}})),
		"half a frame":   "\x00\x00\x01\x00abc",
	}
	for name, in := range tc {
		t.Run(name, func(t *testing.T) {
			d := &desk{beat: time.Second}
			s := newSite(t, d, Limits{Greeting: 200 * time.Millisecond})
			good := s.dial(worker, Limits{})
			conn := s.raw(s.executor(plan.TaskID{Role: "bad"}))
			if _, err := io.WriteString(conn, in); err != nil {
				t.Fatal(err)
			}
			ends(t, conn)
			if err := good.Send(Message{Ready: &Ready{}}); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the good one is heard", func() bool { return look(d, func() bool { return len(d.got) == 1 }) })
			if n := look(d, func() int { return len(d.links) }); n != 1 {
				t.Errorf("%d links", n)
			}
		})
	}
}

func TestGarbageOnALinkEndsThatLink(t *testing.T) {
	d := &desk{beat: time.Second}
	s := newSite(t, d, Limits{})
	c := s.dial(worker, Limits{})
	if _, err := c.conn.Write([]byte("\x00\x00\x00\x02\xff\xff")); err != nil {
		t.Fatal(err)
	}
	is(t, d.reason(t), ErrGarbage)
}

func TestOneWhoOnlyConnectsIsCutOffAndKeepsNobodyWaiting(t *testing.T) {
	s := newSite(t, &desk{beat: time.Second}, Limits{Greeting: 300 * time.Millisecond, Handshakes: 1})
	var idle []net.Conn
	for range 20 { // more than the gate has turns
		conn, err := net.Dial("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		idle = append(idle, conn)
	}
	s.dial(worker, Limits{})
	for _, conn := range idle {
		ends(t, conn)
	}
}

func TestOneWhoStallsInTheHandshakeLosesHisTurn(t *testing.T) {
	s := newSite(t, &desk{beat: time.Second}, Limits{Handshakes: 1})
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	// The first flight of a client, and then nothing.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	half := tls.Client(deaf{conn, ctx}, s.executor(plan.TaskID{Role: "slow"}))
	done := make(chan struct{})
	go func() { defer close(done); _ = half.Handshake() }()
	s.dial(worker, Limits{})
	cancel()
	<-done
}

// deaf writes but never reads.
type deaf struct {
	net.Conn
	ctx context.Context
}

func (d deaf) Read([]byte) (int, error) { <-d.ctx.Done(); return 0, io.EOF }

func TestAnAuthoritySurvivesItsFile(t *testing.T) {
	a, err := NewAuthority(jobID)
	if err != nil {
		t.Fatal(err)
	}
	text, err := a.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseAuthority(text)
	if err != nil {
		t.Fatal(err)
	}
	cert, key, err := again.Issue(worker)
	if err != nil {
		t.Fatal(err)
	}
	// Issued by the second, accepted by who trusts the first.
	if _, err := Executor(a.Certificate(), cert, key); err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	if got := pair.Leaf.URIs[0].String(); got != "muster://m-7k3f/worker/3" {
		t.Errorf("named %s", got)
	}
	if since := time.Since(pair.Leaf.NotBefore); since < 23*time.Hour {
		t.Errorf("valid for only %s back", since)
	}
	if err := pair.Leaf.CheckSignatureFrom(a.cert); err != nil {
		t.Error(err)
	}
}

func TestTheKeyExchangeIsTheHybridOne(t *testing.T) {
	s := newSite(t, &desk{beat: time.Second}, Limits{})
	state := s.raw(s.executor(worker)).ConnectionState()
	if state.Version != tls.VersionTLS13 || state.CurveID != tls.X25519MLKEM768 {
		t.Errorf("version %x, curve %s", state.Version, state.CurveID)
	}
}

func TestABadAuthorityFileIsAnError(t *testing.T) {
	for _, text := range []string{"", "not PEM", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"} {
		if _, err := ParseAuthority([]byte(text)); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}
