package executor

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/muster-project/muster/event"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/wire"
)

// plainBind is the bind of a stranger: no option is set.
func plainBind(port int) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Bind(fd, &unix.SockaddrInet4{Port: port})
}

// kernelPort is a port that the kernel gives to somebody who asks for any.
func kernelPort() (int, int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, 0, err
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{}); err != nil {
		return fd, 0, err
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		return fd, 0, err
	}
	return fd, name.(*unix.SockaddrInet4).Port, nil
}

// F-001: nobody gets the promised port while the task sleeps; the task does.
func TestF001ThePromisedPortIsTheTasksAlone(t *testing.T) {
	j := newJob(t)
	d := j.coordinator(1, true)
	live(t, j.context(d, worker))
	d.send(wire.Directive{Prepare: &wire.Prepare{Incarnation: 1, Ports: []plan.Port{{Name: "main"}}}})
	port := wait(d, registered(1)).Ports["main"]
	stranger := func() {
		if err := plainBind(port); err == nil {
			t.Error("a stranger bound the promised port")
		}
		var held []int
		for range 1000 {
			fd, got, err := kernelPort()
			held = append(held, fd)
			if err != nil {
				break // none left, and ours was not among them
			}
			if got == port {
				t.Error("the kernel gave the promised port away")
			}
		}
		for _, fd := range held {
			_ = unix.Close(fd)
		}
	}
	stranger()
	listen := strings.Join(self(t, "listen", strconv.Itoa(port)), " ")
	d.send(wire.Directive{Start: &wire.Start{Incarnation: 1, Launch: shell(`while [ ! -e go ]; do sleep 0.02; done; exec ` + listen)}})
	wait(d, started(1))
	stranger() // the program sleeps before it binds
	if err := os.WriteFile(j.dir+"/tasks/worker-0/1/work/go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wait(d, ready(1)) // it listens
	conn, err := net.Dial("tcp", "127.0.0.1:"+strconv.Itoa(port))
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	if x := wait(d, exitOf(1)).Exit; x.Status != 0 {
		t.Errorf("exit %+v", x)
	}
}

// F-002: a port is held until the incarnation has ended, with no time of its own.
func TestF002APortIsHeldAsLongAsTheGangWaits(t *testing.T) {
	j := newJob(t)
	d := j.coordinator(1, true)
	live(t, j.context(d, worker))
	d.send(wire.Directive{Prepare: &wire.Prepare{Incarnation: 1, Ports: []plan.Port{{Name: "main"}, {Name: "b"}}}})
	ports := wait(d, registered(1)).Ports
	beats := func(m wire.Message) *wire.Beat { return m.Beat }
	for range 10 { // the gang waits; the executor has nothing to do but beat
		n := len(all(d, beats))
		eventually(t, "beat", func() bool { return len(all(d, beats)) > n })
		for name, port := range ports {
			if plainBind(port) == nil {
				t.Fatalf("%s is not held any more", name)
			}
		}
	}
	d.send(wire.Directive{Start: &wire.Start{Incarnation: 1, Launch: shell(`exit 0`)}})
	wait(d, exitOf(1))
	for name, port := range ports {
		if err := plainBind(port); err != nil {
			t.Errorf("%s is held after the end: %v", name, err)
		}
	}
}

// F-089: the second task that fixes the same port is told at once who holds it.
func TestF089AFixedPortThatIsTakenIsToldWithItsHolder(t *testing.T) {
	fd, port, err := kernelPort()
	if err != nil {
		t.Fatal(err)
	}
	_ = unix.Close(fd)
	want := []plan.Port{{Name: "main", Number: port}}
	first, err := holdPorts(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	self := fmt.Sprintf("process %d", os.Getpid())
	told := func(what string) {
		t.Helper()
		second, err := holdPorts(t.Context(), want)
		if err == nil {
			second.close()
			t.Fatalf("%s: held twice", what)
		}
		for _, part := range []string{"ports.main: ", strconv.Itoa(port), self} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q does not say %q", what, err, part)
			}
		}
	}
	told("another task")
	first.close()
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) {
			_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
		})
	}}
	ln, err := lc.Listen(t.Context(), "tcp", ":"+strconv.Itoa(port)) // would share it
	if err != nil {
		t.Fatal(err)
	}
	told("a listener of the same user")
	_ = ln.Close()
	again, err := holdPorts(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	again.close()
}

func TestAllPortsThatAreTakenAreNamedAtOnce(t *testing.T) {
	a, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	number := func(l net.Listener) int { return l.Addr().(*net.TCPAddr).Port }
	_, err = holdPorts(t.Context(), []plan.Port{{Name: "a", Number: number(a)}, {Name: "b", Number: number(b)}, {Name: "c"}})
	if err == nil || !strings.Contains(err.Error(), "ports.a") || !strings.Contains(err.Error(), "ports.b") {
		t.Errorf("got %v", err)
	}
}

func TestHeldPortsDiffer(t *testing.T) {
	var mu sync.Mutex
	seen := map[int]bool{}
	var wg sync.WaitGroup
	var holds []*hold
	for range 20 {
		wg.Go(func() {
			h, err := holdPorts(t.Context(), []plan.Port{{Name: "a"}, {Name: "b"}})
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			holds = append(holds, h)
			for _, port := range h.ports {
				if seen[port] {
					t.Errorf("port %d was given twice", port)
				}
				seen[port] = true
			}
		})
	}
	wg.Wait()
	for _, h := range holds {
		h.close()
	}
}

// A program that sets no option cannot bind the port that is held for it: it
// says so, and the next incarnation here gets the port free.
func TestAProgramThatCannotShareGetsItsPortFreeTheNextTime(t *testing.T) {
	j := newJob(t)
	d := j.coordinator(1, true)
	live(t, j.context(d, worker))
	bind := func(n int) event.Exit {
		d.send(wire.Directive{Prepare: &wire.Prepare{Incarnation: n, Ports: []plan.Port{{Name: "main"}}}})
		port := wait(d, registered(n)).Ports["main"]
		script := fmt.Sprintf("import socket, sys\ntry:\n socket.socket().bind(('', %d))\nexcept OSError as e:\n sys.exit(f'bind %d: {e}')", port, port)
		d.send(wire.Directive{Start: &wire.Start{Incarnation: n, Launch: plan.Launch{Argv: []string{"python3", "-c", script}}}})
		return wait(d, exitOf(n)).Exit
	}
	if x := bind(1); x.Class != event.ClassNetwork || !strings.Contains(x.Text, "(main): address already in use") {
		t.Errorf("first exit %+v", x)
	}
	if x := bind(2); x.Class != event.ClassNone {
		t.Errorf("second exit %+v", x)
	}
}
