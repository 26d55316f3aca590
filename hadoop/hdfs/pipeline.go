package hdfs

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/muster-project/muster/hadoop/pb/hdfspb"
	"github.com/muster-project/muster/hadoop/rpc"
)

const (
	// attempts is how many pipelines are tried for one block: the first of them at
	// once, since other DataNodes are asked, the last ones some seconds apart, for
	// where there are no others and they are restarted.
	attempts = 8
	atOnce   = 3
	// settle is how long the NameNode may wait for reports of DataNodes, before the
	// next block and before the end of a file.
	settle = 60 * time.Second
	// scarce is how long DataNodes may be too few, as after a start of the NameNode.
	scarce = 15 * time.Second
)

// openBlock gets the next block of the file and sets its pipeline up. A DataNode
// that does not answer is left out at the next try, because the NameNode takes
// minutes to notice a dead one.
func (w *Writer) openBlock(ctx context.Context) (*stream, error) {
	for n := 1; ; n++ {
		lb, err := w.addBlock(ctx)
		if err != nil {
			return nil, err
		}
		s, bad, err := w.setUp(ctx, lb)
		if err == nil {
			return s, nil
		}
		if ctx.Err() != nil || n == attempts {
			return nil, fmt.Errorf("%w: %w", ErrAway, err)
		}
		stale := errors.Is(err, errStale)
		if !stale { // a DataNode that has just been started does not know the NameNode's keys yet
			w.client.bad.add(w.client.suspects(ctx, lb, bad, err)...)
		}
		abandon := &hdfspb.AbandonBlockRequest{B: lb.GetB(), Src: &w.src, Holder: &w.holder, FileId: &w.file}
		if err := w.client.call(ctx, "abandonBlock", abandon, &hdfspb.VoidResponse{}); err != nil {
			return nil, err
		}
		if n >= atOnce || stale {
			if serr := sleep(ctx, backoff(max(1, n-atOnce+1))); serr != nil {
				return nil, err
			}
		}
	}
}

// addBlock asks for a block until the one before has been reported.
func (w *Writer) addBlock(ctx context.Context) (*hdfspb.LocatedBlock, error) {
	req := &hdfspb.AddBlockRequest{Src: &w.src, ClientName: &w.holder, Previous: w.previous, FileId: &w.file,
		ExcludeNodes: w.client.bad.list()}
	begun := time.Now()
	var r hdfspb.AddBlockResponse
	err := poll(ctx, func() (bool, error) {
		err := w.client.call(ctx, "addBlock", req, &r)
		switch {
		case errors.Is(err, NotReplicatedYet):
			return false, nil
		case errors.Is(err, rpc.IOException) && len(req.ExcludeNodes) > 0:
			// Too few are left without those that failed lately: a small cluster has no choice.
			w.client.bad.forget()
			req.ExcludeNodes = nil
			return false, nil
		case tooFew(err) && time.Since(begun) < scarce:
			return false, nil
		}
		return true, err
	})
	if tooFew(err) {
		err = fmt.Errorf("%w: %w", ErrAway, err)
	}
	if err != nil {
		return nil, err
	}
	if len(r.GetBlock().GetLocs()) == 0 {
		return nil, errors.New("the NameNode names no datanode for the next block")
	}
	return r.GetBlock(), nil
}

// tooFew tells that no DataNode is there for a block. The NameNode has no
// exception of its own for that; the words are those of 3.x and of 2.x.
func tooFew(err error) bool {
	re, ok := errors.AsType[*rpc.RemoteError](err)
	return ok && rpc.Exception(re.Class) == rpc.IOException &&
		(strings.Contains(re.Message, "could only be written to") || strings.Contains(re.Message, "could only be replicated to"))
}

// poll asks until the answer is final, at longer and longer intervals.
func poll(ctx context.Context, ask func() (bool, error)) error {
	ctx, stop := context.WithTimeout(ctx, settle)
	defer stop()
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		done, err := ask()
		if err != nil || done {
			return err
		}
		if err := sleep(ctx, wait); err != nil {
			return fmt.Errorf("datanodes do not report: %w", err)
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// setUp connects to the first DataNode, which connects to the others. On
// failure it tells which node is at fault.
func (w *Writer) setUp(ctx context.Context, lb *hdfspb.LocatedBlock) (*stream, *hdfspb.DatanodeInfo, error) {
	op := &hdfspb.OpWriteBlock{
		Header:                header(lb, w.holder),
		Targets:               lb.GetLocs()[1:],
		Stage:                 hdfspb.Stage_PIPELINE_SETUP_CREATE.Enum(),
		PipelineSize:          proto.Uint32(uint32(len(lb.GetLocs()))),
		MinBytesRcvd:          proto.Uint64(0),
		MaxBytesRcvd:          proto.Uint64(0),
		LatestGenerationStamp: lb.GetB().GenerationStamp,
		RequestedChecksum: &hdfspb.BlockChecksum{Type: hdfspb.ChecksumType_CHECKSUM_CRC32C.Enum(),
			BytesPerChecksum: proto.Uint32(chunk)},
	}
	if t := lb.GetStorageTypes(); len(t) == len(lb.GetLocs()) {
		op.StorageType, op.TargetStorageTypes = &t[0], t[1:]
	}
	if i := lb.GetStorageIds(); len(i) == len(lb.GetLocs()) {
		op.StorageId, op.TargetStorageIds = &i[0], i[1:]
	}
	// A node has more patience with the next one than we have, who can ask each.
	conn, _, err := w.client.nodes.start(ctx, lb.GetLocs()[0].GetId(), lb, min(flushPatience, w.client.nodes.patience), opWrite, op)
	if err != nil {
		return nil, culprit(lb.GetLocs(), err), err
	}
	return newStream(conn, lb, w.client.nodes.patience), nil, nil
}

// culprit finds the node that a refusal names; without a name it is the first.
func culprit(nodes []*hdfspb.DatanodeInfo, err error) *hdfspb.DatanodeInfo {
	if r, ok := errors.AsType[*refusal](err); ok && r.link != "" {
		for _, n := range nodes {
			port := strconv.FormatUint(uint64(n.GetId().GetXferPort()), 10)
			if r.link == net.JoinHostPort(n.GetId().GetIpAddr(), port) || r.link == net.JoinHostPort(n.GetId().GetHostName(), port) {
				return n
			}
		}
	}
	return nodes[0]
}
