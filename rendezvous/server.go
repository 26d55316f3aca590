package rendezvous

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// patience bounds one request, from its connection to its answer.
const patience = 10 * time.Second

// Server is a store with its clients. Close ends it.
type Server struct {
	store  store
	limits Limits
	done   context.Context // ends with Close, which owns everything below
	cancel context.CancelFunc
	wg     sync.WaitGroup
	lns    []net.Listener

	mu    sync.Mutex
	conns map[net.Conn]bool
}

// Serve answers clients on the listeners, which are the server's from here on.
// The store begins empty and is gone with the server.
func Serve(limits Limits, lns ...net.Listener) *Server {
	s := &Server{limits: limits.filled(), lns: lns, conns: map[net.Conn]bool{}}
	s.store = store{most: s.limits.Total, values: map[string][]byte{}}
	s.done, s.cancel = context.WithCancel(context.Background())
	for _, ln := range lns {
		s.wg.Go(func() { s.accept(ln) })
	}
	return s
}

// Close ends all connections and waits for whatever the server started. It may
// be called again.
func (s *Server) Close() {
	s.cancel()
	for _, ln := range s.lns {
		_ = ln.Close()
	}
	s.mu.Lock()
	for conn := range s.conns {
		_ = conn.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
}

func (s *Server) accept(ln net.Listener) {
	free := make(chan struct{}, s.limits.Conns)
	for {
		select {
		case free <- struct{}{}:
		case <-s.done.Done():
			return
		}
		conn, err := ln.Accept()
		switch {
		case s.done.Err() != nil:
			if err == nil {
				_ = conn.Close()
			}
			return
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // out of file descriptors, or of memory: it may pass
			<-free
			select {
			case <-time.After(100 * time.Millisecond):
			case <-s.done.Done():
			}
			continue
		}
		s.wg.Go(func() {
			defer func() { <-free }()
			s.serve(conn)
		})
	}
}

// serve answers the one request of a connection. The server closes first, so
// that the client's ports are free again at once: gloo asks a hundred times a
// second until a key is there, each time on a connection of its own.
func (s *Server) serve(conn net.Conn) {
	defer conn.Close()
	if !s.note(conn) {
		return
	}
	defer s.forget(conn)
	_ = conn.SetDeadline(time.Now().Add(patience))
	if s.answer(conn) {
		return
	}
	// Closing over bytes that were not read would cut the answer off.
	if half, ok := conn.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		_ = conn.SetDeadline(time.Now().Add(time.Second))
		_, _ = io.CopyN(io.Discard, conn, int64(s.limits.Value))
	}
}

// note remembers a connection for Close; false: it is too late for it.
func (s *Server) note(conn net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done.Err() != nil {
		return false
	}
	s.conns[conn] = true
	return true
}

func (s *Server) forget(conn net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, conn)
}

// answer reads one request and answers it. It says whether all that the client
// sent has been read.
func (s *Server) answer(conn io.ReadWriter) bool {
	req, err := readRequest(conn, s.limits.Value)
	var value []byte
	status := 200
	if err == nil {
		status, value, err = s.do(conn, req)
	}
	var no refusal
	switch {
	case errors.As(err, &no):
		_ = writeAnswer(conn, no.status, []byte(no.text+"\n"))
		return false
	case err != nil:
		return true // nobody is there to be answered
	}
	return writeAnswer(conn, status, value) == nil
}

// do carries a request out. As with Horovod's own server a value that is not
// there is 404, and one that is removed need not have been there.
func (s *Server) do(conn io.Writer, req *request) (status int, value []byte, err error) {
	switch req.method {
	case "PUT":
		return 200, nil, s.put(conn, req)
	case "DELETE":
		s.store.remove(req.key)
	default:
		stored, found := s.store.get(req.key)
		if value = stored; !found {
			status = 404
		}
	}
	_, err = io.Copy(io.Discard, req.body)
	return max(status, 200), value, err
}

func (s *Server) put(conn io.Writer, req *request) error {
	room := weight(req.key, req.length)
	if err := s.store.reserve(room); err != nil {
		return refuse(507, "%v: %d bytes at most", err, s.limits.Total)
	}
	if req.expect {
		if _, err := io.WriteString(conn, "HTTP/1.1 100 Continue\r\n\r\n"); err != nil {
			s.store.unreserve(room)
			return err
		}
	}
	value := make([]byte, req.length)
	if _, err := io.ReadFull(req.body, value); err != nil {
		s.store.unreserve(room)
		return err // what came in part is no value
	}
	s.store.put(req.key, value)
	return nil
}
