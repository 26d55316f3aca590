package hdfs

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/muster-project/muster/hadoop/pb/hdfspb"
)

// located is a block on three nodes that nobody asks anything.
func located() *hdfspb.LocatedBlock {
	lb := &hdfspb.LocatedBlock{B: &hdfspb.ExtendedBlock{PoolId: proto.String("pool"), BlockId: proto.Uint64(1), GenerationStamp: proto.Uint64(1)}}
	for _, name := range []string{"one", "two", "three"} {
		lb.Locs = append(lb.Locs, &hdfspb.DatanodeInfo{Id: &hdfspb.DatanodeID{IpAddr: proto.String("10.0.0." + name), HostName: &name,
			DatanodeUuid: &name, XferPort: proto.Uint32(9866)}})
	}
	return lb
}

// piped is a stream whose DataNode is the test.
func piped(t *testing.T) (*stream, *transfer) {
	t.Helper()
	ours, other := net.Pipe()
	s := newStream(&transfer{Conn: ours, in: bufio.NewReader(ours)}, located(), time.Minute)
	t.Cleanup(func() {
		s.abandon()
		_ = other.Close() // the test may have done so
	})
	return s, &transfer{Conn: other, in: bufio.NewReader(other)}
}

func (t *transfer) acknowledge(seq int64, reply ...hdfspb.Status) error {
	b, err := appendMessage(nil, &hdfspb.PipelineAck{Seqno: &seq, Reply: reply})
	if err != nil {
		return err
	}
	_, err = t.Write(b)
	return err
}

func TestWhatBreaksAPipeline(t *testing.T) {
	const ok, bad = hdfspb.Status_SUCCESS, hdfspb.Status_ERROR
	for name, tc := range map[string]struct {
		answer  func(n *transfer) error
		want    string
		suspect string
	}{
		"the second node fails":   {func(n *transfer) error { return n.acknowledge(0, ok, bad, ok) }, "datanode two:9866 says ERROR", "two"},
		"the first node restarts": {func(n *transfer) error { return n.acknowledge(-2, hdfspb.Status_OOB_RESTART) }, "datanode one:9866 says OOB_RESTART", "one"},
		"a node is missing":       {func(n *transfer) error { return n.acknowledge(0, ok, ok) }, "2 of 3 datanodes answered", "one"},
		"another packet":          {func(n *transfer) error { return n.acknowledge(1, ok, ok, ok) }, "packet 1 was acknowledged instead of packet 0", "one"},
		"it hangs up":             {func(n *transfer) error { return n.Close() }, "EOF", "one"},
		"no acknowledgement":      {func(n *transfer) error { _, err := n.Write([]byte{1, 0xff}); return err }, "cannot parse", "one"},
		"an acknowledgement too many": {func(n *transfer) error {
			return errors.Join(n.acknowledge(0, ok, ok, ok), n.acknowledge(1, ok, ok, ok))
		}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, n := piped(t)
			answered := make(chan error, 1)
			go func() {
				var buf []byte
				if _, err := theirs.read(n.in, &buf); err != nil {
					answered <- err
					return
				}
				answered <- tc.answer(n)
			}()
			if err := s.send(packet{data: []byte("abc")}); err != nil {
				t.Fatal(err)
			}
			err := s.acknowledged(t.Context())
			if err := <-answered; err != nil {
				t.Fatal(err)
			}
			if tc.want == "" {
				if err != nil {
					t.Fatalf("what was acknowledged is acknowledged: %v", err)
				}
				<-s.ended
				if err := s.send(packet{data: []byte("abc")}); err == nil || !s.broken() {
					t.Error("it goes on")
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) || !s.broken() {
				t.Errorf("got %v, want %s", err, tc.want)
			}
			if node, _ := s.cause(); node.GetId().GetHostName() != tc.suspect {
				t.Errorf("suspects %s, want %s", node.GetId().GetHostName(), tc.suspect)
			}
		})
	}
}

func TestSilenceBreaksAPipelineOnlyWhileSomethingIsAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, n := piped(t)
		go func() { _, _ = io.Copy(io.Discard, n.in) }() // takes all, says nothing
		time.Sleep(time.Hour)                            //nolint:forbidigo // synctest's clock
		if s.broken() {
			t.Fatal("broken while idle")
		}
		begun := time.Now()
		s.hurry()
		if err := s.send(packet{data: []byte("abc")}); err != nil {
			t.Fatal(err)
		}
		err := s.acknowledged(t.Context())
		if err == nil || !strings.Contains(err.Error(), "no acknowledgement for 20s") || time.Since(begun) != flushPatience {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
		s.abandon()
		_ = n.Close() // ends the taker
	})
}

func TestAWaitThatIsGivenUpBreaksNothing(t *testing.T) {
	s, n := piped(t)
	var buf []byte
	read := make(chan error, 1)
	go func() { _, err := theirs.read(n.in, &buf); read <- err }()
	if err := s.send(packet{data: []byte("abc")}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.acknowledged(ctx); !errors.Is(err, context.Canceled) || s.broken() {
		t.Fatalf("got %v, broken %v", err, s.broken())
	}
	if err := <-read; err != nil {
		t.Fatal(err)
	}
	if err := n.acknowledge(0, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	if err := s.acknowledged(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestOnlySoMuchIsOnItsWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, n := piped(t)
		taken := make(chan int64, 1000)
		go func() {
			var buf []byte
			for {
				p, err := theirs.read(n.in, &buf)
				if err != nil {
					return
				}
				taken <- p.seq
			}
		}()
		sent := make(chan error)
		go func() {
			var err error
			for range 200 {
				if err = s.send(packet{data: make([]byte, packetData)}); err != nil {
					break
				}
			}
			sent <- err
		}()
		synctest.Wait()
		if n := len(taken); n < 70 || n > 80 {
			t.Errorf("%d packets without an acknowledgement", n)
		}
		for range 200 { // one is let in for each that is acknowledged
			if err := n.acknowledge(<-taken, 0, 0, 0); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		if err := <-sent; err != nil {
			t.Error(err)
		}
		if err := s.acknowledged(t.Context()); err != nil {
			t.Error(err)
		}
		s.abandon()
		_ = n.Close() // ends the taker
	})
}
