//go:build hadoop

package conformance

import (
	"io"
	"net"
	"sync"
	"testing"
)

// way is the way to a server, which can be cut: then nobody listens, and what
// was connected is connected no more.
type way struct {
	t       *testing.T
	address string
	server  string

	owned sync.WaitGroup
	mu    sync.Mutex
	ln    net.Listener
	conns map[net.Conn]bool
}

func newWay(t *testing.T, server string) *way {
	w := &way{t: t, address: "127.0.0.1:0", server: server}
	w.cut(false)
	w.address = w.ln.Addr().String()
	return w
}

// cut cuts the way, or repairs it.
func (w *way) cut(on bool) {
	if on {
		if err := w.close(); err != nil {
			w.t.Error(err)
		}
		return
	}
	ln, err := net.Listen("tcp", w.address)
	if err != nil {
		w.t.Fatal(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ln, w.conns = ln, map[net.Conn]bool{}
	w.owned.Go(func() { w.serve(ln) })
}

// close cuts the way and waits for everybody on it.
func (w *way) close() error {
	w.mu.Lock()
	err := w.ln.Close()
	for c := range w.conns {
		_ = c.Close() // its copier says what it misses
	}
	w.conns = nil
	w.mu.Unlock()
	w.owned.Wait()
	return err
}

func (w *way) serve(ln net.Listener) {
	for {
		from, err := ln.Accept()
		if err != nil {
			return
		}
		to, err := net.Dial("tcp", w.server)
		if err != nil {
			_ = from.Close()
			continue
		}
		w.join(from, to)
	}
}

// join copies both ways until one side ends.
func (w *way) join(from, to net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	cut := w.conns == nil
	for _, c := range []net.Conn{from, to} {
		if cut {
			_ = c.Close()
			continue
		}
		w.conns[c] = true
	}
	if cut {
		return
	}
	copying := func(dst, src net.Conn) {
		_, _ = io.Copy(dst, src) // ended by either side
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, c := range []net.Conn{from, to} {
			_ = c.Close()
			delete(w.conns, c)
		}
	}
	w.owned.Go(func() { copying(to, from) })
	w.owned.Go(func() { copying(from, to) })
}
