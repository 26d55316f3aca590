package wire

import (
	"crypto/tls"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"
)

// sender is the writing half of a link, the same on both sides. Frames go into
// a bounded queue and never wait; a goroutine writes them, and lives only while
// there is something to write, so that an idle link costs its reader alone.
//
//	        send                    queue empty
//	idle ─────────→ writing ──────────────────→ idle
//	  │                │ └─ error, overflow ─→ ended (connection cut)
//	  └──── finish ────┴──── finish: queue drained, close_notify ─→ ended
type sender struct {
	conn   *tls.Conn
	limits *Limits
	bound  int             // bytes of one frame
	owner  *sync.WaitGroup // waits for the writer

	mu      sync.Mutex
	queue   [][]byte
	bytes   int
	writing bool // a writer runs, or sending is held back until the greeting is done
	closing bool // close orderly when the queue is empty
	err     error
}

// record is the payload of one TLS record: small frames share it.
const record = 16 << 10

// send queues a frame. Only an overflow or an end is an error; whether the peer
// gets it is not known.
func (s *sender) send(m proto.Message) error {
	frame, err := encode(m, s.bound)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	if s.closing {
		return ErrClosed
	}
	if len(s.queue) >= s.limits.Queue || s.bytes+len(frame) > s.limits.QueueBytes {
		s.cut(ErrOverflow)
		return ErrOverflow
	}
	s.queue = append(s.queue, frame)
	s.bytes += len(frame)
	s.wake()
	return nil
}

// wake starts the writer if there is work and none runs. Called locked.
func (s *sender) wake() {
	if !s.writing && (len(s.queue) > 0 || s.closing) {
		s.writing = true
		s.owner.Go(s.write)
	}
}

// open lets the writer run: the greeting is done.
func (s *sender) open() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writing = false
	s.wake()
}

func (s *sender) write() {
	for {
		batch, last := s.take()
		if batch == nil {
			if last {
				_ = s.conn.Close() // sends close_notify
			}
			return
		}
		for _, chunk := range join(batch) {
			_ = s.conn.SetWriteDeadline(time.Now().Add(s.limits.Write))
			if _, err := s.conn.Write(chunk); err != nil {
				s.fail(err)
				return
			}
		}
	}
}

// take gives the queue to the writer, or tells it to end.
func (s *sender) take() (batch [][]byte, last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return nil, false
	}
	if len(s.queue) == 0 {
		s.writing = false
		if s.closing {
			s.err = ErrClosed
		}
		return nil, s.closing
	}
	batch, s.queue, s.bytes = s.queue, nil, 0
	return batch, false
}

// join puts neighbouring small frames together, so that they cost one record.
func join(batch [][]byte) [][]byte {
	out := batch[:1]
	for _, frame := range batch[1:] {
		last := &out[len(out)-1]
		if len(*last)+len(frame) <= record {
			*last = append(*last, frame...)
		} else {
			out = append(out, frame)
		}
	}
	return out
}

// finish closes the link once everything queued is written.
func (s *sender) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil || s.closing {
		return
	}
	s.closing = true
	s.wake()
}

// fail ends the link now; the first reason stays.
func (s *sender) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cut(err)
}

// cut closes the TCP connection below TLS: a close_notify could wait for a peer
// that does not read. Called locked.
func (s *sender) cut(err error) {
	if s.err == nil {
		s.err = err
		s.queue, s.bytes = nil, 0
	}
	_ = s.conn.NetConn().Close()
}

// reason is why the link ended, given what its reader met.
func (s *sender) reason(read error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	return read
}
