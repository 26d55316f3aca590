package executor

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/rendezvous"
)

// backlog is how many clients may wait to be answered; the kernel has a limit
// of its own. All ranks of a job come at the same time.
const backlog = 4096

// serve listens on a held port and answers there with a store of its own, which
// lives as long as the port is held.
func (p *held) serve(name string) error {
	var lns []net.Listener
	for len(p.fds) > 0 {
		fd := p.fds[0]
		p.fds = p.fds[1:]
		ln, err := listenOn(fd)
		if err != nil {
			for _, l := range lns {
				_ = l.Close()
			}
			return fmt.Errorf("ports.%s: no store can be served: %w", name, err)
		}
		lns = append(lns, ln)
	}
	p.store = rendezvous.Serve(rendezvous.Limits{}, lns...)
	return nil
}

// listenOn makes a listener of a bound socket, which is the listener's from
// here on.
func listenOn(fd int) (net.Listener, error) {
	f := os.NewFile(uintptr(fd), "port")
	defer f.Close() // the listener has a copy
	if err := unix.Listen(fd, backlog); err != nil {
		return nil, os.NewSyscallError("listen", err)
	}
	return net.FileListener(f)
}

// first is the port on which a task's readiness shows. A store is no sign of
// it: it answers before the task runs.
func first(ports []plan.Port) string {
	for _, p := range ports {
		if !p.Store {
			return p.Name
		}
	}
	return ""
}
