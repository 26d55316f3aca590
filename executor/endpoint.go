package executor

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// endpoint is where the coordinator of a term listens.
type endpoint struct {
	Term    int64  `json:"term"`
	Address string `json:"address"`
}

// newest reads the endpoint of the highest term from a directory of files named
// by their terms. A file that is not complete yet counts as not there. The
// error says that the directory itself cannot be read.
func newest(dir string) (endpoint, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return endpoint{}, err
	}
	var best endpoint
	for _, entry := range entries {
		term, err := strconv.ParseInt(entry.Name(), 10, 64)
		if err != nil || term < best.Term {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			continue
		}
		var e endpoint
		if json.Unmarshal(text, &e) == nil && e.Address != "" {
			best = endpoint{Term: term, Address: e.Address}
		}
	}
	return best, nil
}

// Waits of the looker between two looks. While there is a link, only a
// superseded coordinator that does not know it makes them needed. Without one
// they grow from first to last: thousands of executors share the directory.
const (
	lookLinked = 30 * time.Second
	lookFirst  = time.Second
	lookLast   = 5 * time.Second
)

// look reads the job directory as long as the executor lives, in a goroutine of
// its own: a file system that hangs must not keep anybody from dialling.
func (e *executor) look(ctx context.Context) {
	wait := lookFirst
	for {
		found, err := newest(e.Endpoints)
		if err != nil {
			e.log.Debug("job directory cannot be read", "error", err)
		}
		seen := looked{found: found, ok: err == nil, linked: make(chan bool, 1)}
		if !e.tell(ctx, seen) {
			return
		}
		// The short lease runs from the last look that succeeded.
		next := min(wait, e.short()/4)
		if <-seen.linked {
			next, wait = lookLinked, lookFirst
		}
		t := time.NewTimer(next/2 + rand.N(next)) // jitter
		select {
		case <-t.C:
			wait = min(2*wait, lookLast)
		case <-e.unlinked:
			wait = lookFirst
		case <-ctx.Done():
		}
		t.Stop()
	}
}

// looked is what the looker found, and its question whether there is a link.
type looked struct {
	found  endpoint
	ok     bool
	linked chan bool // of size 1
}

func (l looked) apply(_ context.Context, e *executor) {
	l.linked <- e.conn != nil
	if l.ok {
		e.dirOK = time.Now()
		e.learn(l.found)
	}
	if e.conn == nil {
		e.arm()
	}
}

// hostFor is the address that others reach this node at: the one that was
// given, else the one on the route to the coordinator, since that is known to
// work and an interface chosen by name is not.
func hostFor(given, coordinator string) string {
	if given != "" {
		return given
	}
	// No packet is sent by this: the kernel only chooses the route.
	if conn, err := net.Dial("udp", coordinator); err == nil {
		defer conn.Close()
		if addr, ok := conn.LocalAddr().(*net.UDPAddr); ok {
			return addr.IP.String()
		}
	}
	if name, err := os.Hostname(); err == nil {
		return name
	}
	return "127.0.0.1"
}

// bindHost is where to listen so that host reaches it: a loopback address keeps
// to itself, any other may be one that only the outside knows.
func bindHost(host string) string {
	if ip := net.ParseIP(host); ip != nil && ip.IsLoopback() {
		return host
	}
	return ""
}
