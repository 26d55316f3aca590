package hdfs

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/muster-project/muster/hadoop/pb/hdfspb"
)

// window is how many bytes may be on their way without an acknowledgement.
const window = 80 * packetData

// flushPatience is how long a flush waits without any progress before the
// pipeline counts as broken. It is shorter than the patience with uploads,
// because somebody waits for each flush.
const flushPatience = 20 * time.Second

// ack is an answer to a packet: who of the pipeline has it.
type ack struct {
	seq   int64
	reply []hdfspb.Status
}

// stream is the open block of a file: packets go to the first DataNode of the
// pipeline, and its acknowledgements come back on the same connection.
//
//	open ──an error reply, a hang-up, silence──▶ broken (for good)
//	open ──the last packet is acknowledged──▶ finished
//
// One goroutine sends; the one that hears belongs to the stream and ends with it.
type stream struct {
	conn *transfer
	lb   *hdfspb.LocatedBlock
	buf  []byte // of the packet being sent

	sending sync.Mutex // a whole packet at a time
	seq     int64      // of the next packet; with sending

	mu       sync.Mutex
	news     sync.Cond // on mu: something was acknowledged, or the stream ended
	acked    int64     // number of the last acknowledged packet, -1 at first
	onWay    []int     // sizes of the packets that are not acknowledged, heartbeats too
	bytes    int       // their sum
	patience time.Duration
	err      error
	suspect  int // index of the node that is at fault
	ended    chan struct{}
}

func newStream(conn *transfer, lb *hdfspb.LocatedBlock, patience time.Duration) *stream {
	s := &stream{conn: conn, lb: lb, acked: -1, patience: patience, ended: make(chan struct{})}
	s.news.L = &s.mu
	go s.hear()
	return s
}

// send sends one packet, whose number it sets unless it is a heartbeat. It waits
// for room in the window.
func (s *stream) send(p packet) error {
	s.sending.Lock()
	defer s.sending.Unlock()
	if p.seq != heartbeat {
		p.seq = s.seq
	}
	b, err := p.append(s.buf[:0])
	if err != nil {
		return err
	}
	s.buf = b
	if err := s.admit(len(b)); err != nil {
		return err
	}
	if _, err := s.conn.Write(b); err != nil {
		return s.fail(0, err) // half a packet: nothing can follow
	}
	if p.seq != heartbeat {
		s.seq++
	}
	return nil
}

// admit waits until n more bytes may be on their way. The hearer's patience
// bounds the wait.
func (s *stream) admit(n int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.err == nil && s.bytes > 0 && s.bytes+n > window {
		s.news.Wait()
	}
	if s.err != nil {
		return s.err
	}
	s.onWay, s.bytes = append(s.onWay, n), s.bytes+n
	if len(s.onWay) == 1 {
		s.wait()
	}
	if err := s.conn.SetWriteDeadline(time.Now().Add(s.patience)); err != nil {
		return err
	}
	return nil
}

// wait sets until when the next acknowledgement must come. mu is held. An error
// is that of a closed connection, which the hearer sees as well.
func (s *stream) wait() {
	until := time.Time{}
	if len(s.onWay) > 0 {
		until = time.Now().Add(s.patience)
	}
	_ = s.conn.SetReadDeadline(until)
}

// hear takes acknowledgements until the block ends.
func (s *stream) hear() {
	defer close(s.ended)
	for {
		a, err := readAck(s.conn.in)
		if err != nil {
			_ = s.fail(0, err) // it is kept for whoever asks next
			return
		}
		if !s.take(a) {
			return
		}
	}
}

// take counts one acknowledgement and tells whether more are awaited.
func (s *stream) take(a ack) bool {
	for i, r := range a.reply {
		if r != hdfspb.Status_SUCCESS {
			_ = s.fail(i, fmt.Errorf("datanode %s says %s", s.name(i), r)) // kept
			return false
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.news.Broadcast()
	if s.err != nil {
		return false
	}
	switch {
	case len(a.reply) != len(s.nodes()):
		s.err = fmt.Errorf("packet %d: %d of %d datanodes answered", a.seq, len(a.reply), len(s.nodes()))
	case len(s.onWay) == 0 || a.seq != heartbeat && a.seq != s.acked+1:
		s.err = fmt.Errorf("packet %d was acknowledged instead of packet %d", a.seq, s.acked+1)
	}
	if s.err != nil {
		return false
	}
	if a.seq != heartbeat {
		s.acked = a.seq
	}
	s.bytes -= s.onWay[0]
	s.onWay = s.onWay[1:]
	s.wait()
	return true
}

func (s *stream) nodes() []*hdfspb.DatanodeInfo { return s.lb.GetLocs() }

func (s *stream) name(i int) string {
	if i >= len(s.nodes()) {
		return fmt.Sprint(i)
	}
	n := s.nodes()[i].GetId()
	return join(n.GetHostName(), n.GetXferPort())
}

// fail breaks the stream; the first cause counts. It returns that.
func (s *stream) fail(node int, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			err = fmt.Errorf("no acknowledgement for %v: %w", s.patience, err)
		case errors.Is(err, net.ErrClosed):
			err = errors.New("closed")
		}
		s.err, s.suspect = fmt.Errorf("pipeline of %s: %w", s.name(0), err), node
		_ = s.conn.Close() // wakes whoever sends; it is broken
	}
	s.news.Broadcast()
	return s.err
}

// acknowledged waits until all that was sent is acknowledged. When ctx ends
// before, the stream goes on, and a later call waits for the same bytes.
func (s *stream) acknowledged(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.news.Broadcast()
	})()
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.onWay) > 0 && s.err == nil && ctx.Err() == nil {
		s.news.Wait()
	}
	switch {
	case len(s.onWay) == 0: // whatever happened to the pipeline afterwards
		return nil
	case s.err != nil:
		return s.err
	}
	return ctx.Err()
}

// hurry shortens the patience: from now on somebody waits for each packet.
func (s *stream) hurry() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.patience > flushPatience {
		s.patience = flushPatience
	}
}

// broken says that nothing can follow.
func (s *stream) broken() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err != nil
}

// idle says that no acknowledgement is awaited.
func (s *stream) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.onWay) == 0
}

// finish ends the block at length.
func (s *stream) finish(ctx context.Context, length int64) error {
	err := s.send(packet{offset: length, last: true})
	if err == nil {
		err = s.acknowledged(ctx)
	}
	s.abandon()
	return err
}

// abandon ends the stream as it is and waits for its goroutine.
func (s *stream) abandon() {
	_ = s.conn.Close() // what was acknowledged stays
	<-s.ended
}

// cause tells which node broke the stream, if one did, and how.
func (s *stream) cause() (*hdfspb.DatanodeInfo, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil || s.suspect >= len(s.nodes()) {
		return nil, nil
	}
	return s.nodes()[s.suspect], s.err
}
