package lab

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"
)

// Offsets from a cluster's first port.
const (
	kdcPort     = 10
	zkClient    = 11
	nnRPC       = 20
	nnHTTP      = 21
	dnData      = 22
	dnHTTP      = 23
	dnIPC       = 24
	pair        = 5 // the second of two NameNodes or ResourceManagers has the same ports so much later
	rmScheduler = 30
	rmTracker   = 31
	rmClient    = 32
	rmAdmin     = 33
	rmWeb       = 34
	nmFirst     = 40 // NodeManager n, counted from 1, has nmEach ports
	nmEach      = 5  // RPC, localizer, web, web with TLS, collector
	nmLocalizer = 1
	nmWeb       = 2
	nmWebTLS    = 3
	nmCollector = 4
	span        = 100
)

// A cluster's ports lie below the range from which the kernel takes the ports of
// outgoing connections, and above what services of the machine use.
const (
	firstBase = 20000
	lastBase  = 32700 - span
)

func nmPort(n int) int { return nmFirst + (n-1)*nmEach }

// address is host:port of the port that lies offset after base.
func address(base, offset int) string {
	return net.JoinHostPort("localhost", strconv.Itoa(base+offset))
}

// claim finds a base whose ports are free, or takes the one that is wanted. The
// claim holds until it is closed in every process that has it: another cluster that starts at the same time
// could not see ports that are bound only seconds later.
func claim(want int) (int, net.Listener, error) {
	if want != 0 {
		held, ok := hold(want)
		if !ok {
			return 0, nil, fmt.Errorf("ports %d to %d: not all of them are free", want, want+span-1)
		}
		return want, held, nil
	}
	for base := firstBase; base <= lastBase; base += span {
		if held, ok := hold(base); ok {
			return base, held, nil
		}
	}
	return 0, nil, fmt.Errorf("ports %d to %d: no %d free ones in a row", firstBase, lastBase+span-1, span)
}

// hold claims a base by an abstract socket, which the kernel removes with its
// holder, and asks every port.
func hold(base int) (net.Listener, bool) {
	held, err := net.Listen("unix", claimName(base))
	if err != nil {
		return nil, false
	}
	for port := base; port < base+span; port++ {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			held.Close()
			return nil, false
		}
		l.Close()
	}
	return held, true
}

// handOver returns a claim as a file for the keeper's process, and inherited takes
// it there: at no moment are the ports anybody else's.
func handOver(held net.Listener) (*os.File, error) {
	l, ok := held.(*net.UnixListener)
	if !ok {
		return nil, fmt.Errorf("claim: is a %T", held)
	}
	return l.File()
}

func inherited() (net.Listener, error) {
	const first = 3 // of the files behind the standard ones
	syscall.CloseOnExec(first)
	f := os.NewFile(first, "claim")
	defer f.Close()
	held, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("keeper: the claim of its ports is missing: %w", err)
	}
	return held, nil
}

func claimName(base int) string { return fmt.Sprintf("@muster-lab-%d", base) }
