package executor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/rendezvous"
)

// hold keeps announced ports for the task: bound, but not listening, with
// address and port reuse set. So the kernel gives them to nobody else and an
// ordinary bind of a stranger is refused, while the task's own program, which
// sets address reuse (as gRPC, TCPStore and every usual server do), binds them.
// They are kept until the incarnation has ended, however long a gang waits.
type hold struct {
	ports map[string]int
	held  map[string]*held
}

// held is one port: our sockets on it, or the store that answers there.
type held struct {
	fds   []int
	mark  net.Listener // of a fixed port
	store *rendezvous.Server
}

// holdPorts binds every wanted port, or none and says all that is wrong.
func holdPorts(ctx context.Context, want []plan.Port) (*hold, error) {
	h := &hold{ports: map[string]int{}, held: map[string]*held{}}
	var wrong []error
	for _, p := range want {
		h.held[p.Name] = &held{}
		var err error
		if p.Number == 0 {
			err = h.any(p.Name)
		} else {
			err = h.fixed(ctx, p)
		}
		if err == nil && p.Store {
			err = h.held[p.Name].serve(p.Name)
		}
		if err != nil {
			wrong = append(wrong, err)
		}
	}
	if err := errors.Join(wrong...); err != nil {
		h.close()
		return nil, portError{err}
	}
	return h, nil
}

// portError is what is wrong with the ports that a task wants.
type portError struct{ error }

func (p portError) Unwrap() error { return p.error }

func (h *hold) numbers() map[string]int { return maps.Clone(h.ports) }

func (h *hold) close() {
	for _, p := range h.held {
		p.close()
	}
	h.held = nil
}

// letGo gives up the ports that the task's program binds itself.
func (h *hold) letGo() {
	for name, p := range h.held {
		if p.store == nil {
			p.close()
			delete(h.held, name)
		}
	}
}

func (p *held) close() {
	if p.store != nil {
		p.store.Close()
	}
	for _, fd := range p.fds {
		_ = unix.Close(fd)
	}
	if p.mark != nil {
		_ = p.mark.Close()
	}
}

// attempts at a port that is free in both families.
const attempts = 64

// any binds a free port, chosen by the kernel.
func (h *hold) any(name string) error {
	for range attempts {
		fd4, number, err := bind4(0)
		if err != nil {
			return fmt.Errorf("ports.%s: no free port: %w", name, err)
		}
		fd6, err := bind6(number)
		if err != nil {
			_ = unix.Close(fd4)
			continue // taken there; the next one
		}
		h.keep(name, number, fd4, fd6)
		return nil
	}
	return fmt.Errorf("ports.%s: no port is free for IPv4 and IPv6 alike, after %d attempts", name, attempts)
}

// fixed binds the port that was asked for. Port reuse would let two tasks of
// one user hold the same port without noticing, and a listener of the same user
// besides: the first is seen by the mark, the second in the kernel's table.
func (h *hold) fixed(ctx context.Context, p plan.Port) error {
	mark, err := new(net.ListenConfig).Listen(ctx, "unix", markName(p.Number))
	if err != nil {
		return fmt.Errorf("ports.%s: %d is taken: %s", p.Name, p.Number, marker(p.Number))
	}
	h.held[p.Name].mark = mark
	if holder, taken := listener(p.Number); taken {
		return fmt.Errorf("ports.%s: %d is taken: %s", p.Name, p.Number, holder)
	}
	fd4, _, err := bind4(p.Number)
	if err != nil {
		return fmt.Errorf("ports.%s: %d cannot be held: %w", p.Name, p.Number, err)
	}
	fd6, err := bind6(p.Number)
	if err != nil {
		_ = unix.Close(fd4)
		return fmt.Errorf("ports.%s: %d cannot be held: %w", p.Name, p.Number, err)
	}
	h.keep(p.Name, p.Number, fd4, fd6)
	return nil
}

func (h *hold) keep(name string, number int, fds ...int) {
	h.ports[name] = number
	for _, fd := range fds {
		if fd >= 0 {
			h.held[name].fds = append(h.held[name].fds, fd)
		}
	}
}

// markName is an abstract socket: it belongs to the network namespace, as ports
// do, and is gone with its holder.
func markName(port int) string { return "@muster/port/" + strconv.Itoa(port) }

// marker says which process holds the mark of a port.
func marker(port int) string {
	conn, err := net.Dial("unix", markName(port))
	if err != nil {
		return "another task holds it"
	}
	defer conn.Close()
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return "another task holds it"
	}
	var cred *unix.Ucred
	_ = raw.Control(func(fd uintptr) { cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err != nil {
		return "another task holds it"
	}
	return "another task holds it: " + describe(int(cred.Pid))
}

// bind4 binds a port in IPv4 and gives its number.
func bind4(port int) (fd, number int, err error) {
	fd, err = reusable(unix.AF_INET)
	if err != nil {
		return -1, 0, err
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Port: port}); err != nil {
		_ = unix.Close(fd)
		return -1, 0, err
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		_ = unix.Close(fd)
		return -1, 0, err
	}
	return fd, name.(*unix.SockaddrInet4).Port, nil
}

// bind6 binds a port in IPv6 alone; -1 where this node has no IPv6.
func bind6(port int) (int, error) {
	fd, err := reusable(unix.AF_INET6)
	if errors.Is(err, syscall.EAFNOSUPPORT) {
		return -1, nil
	}
	if err != nil {
		return -1, err
	}
	err = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 1)
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrInet6{Port: port})
	}
	if err != nil {
		_ = unix.Close(fd)
		if errors.Is(err, syscall.EADDRNOTAVAIL) {
			return -1, nil // switched off
		}
		return -1, err
	}
	return fd, nil
}

func reusable(family int) (int, error) {
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	if err == nil {
		err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}
