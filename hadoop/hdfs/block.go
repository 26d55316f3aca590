package hdfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/muster-project/muster/hadoop/pb/hdfspb"
)

// blockReader reads a part of one replica.
type blockReader struct {
	node     *hdfspb.DatanodeInfo
	conn     *transfer
	sum      checksum
	patience time.Duration
	stop     func() bool // of the context's hold on the connection

	buf  []byte // of the packet at hand
	data []byte // what is left of it
	next int64  // where the next packet begins in the block
	skip int64  // bytes at the beginning that were not asked for
	left int64  // of what was asked for, behind data
	done bool   // the last packet was read
}

// readBlock asks a DataNode for a part of a block.
func (c *Client) readBlock(ctx context.Context, holder string, n *hdfspb.DatanodeInfo, lb *hdfspb.LocatedBlock, offset, length int64) (*blockReader, error) {
	op := &hdfspb.OpReadBlock{Header: header(lb, holder), Offset: proto.Uint64(uint64(offset)), Len: proto.Uint64(uint64(length)),
		SendChecksums: proto.Bool(true)}
	conn, answer, err := c.nodes.start(ctx, n.GetId(), lb, min(answering, c.nodes.patience), opRead, op)
	if err != nil {
		return nil, err
	}
	sum, err := newChecksum(answer.GetReadOpChecksumInfo().GetChecksum())
	first := int64(answer.GetReadOpChecksumInfo().GetChunkOffset())
	if err == nil && (first > offset || first < 0 || first <= offset-int64(sum.bytes)) {
		err = fmt.Errorf("it begins at byte %d instead of %d", first, offset)
	}
	if err != nil {
		_ = conn.Close() // nothing of it is used
		return nil, fmt.Errorf("datanode %s: %w", c.nodes.transferAddress(n.GetId()), err)
	}
	return &blockReader{node: n, conn: conn, sum: sum, patience: c.nodes.patience, stop: conn.bound(ctx),
		next: first, skip: offset - first, left: length}, nil
}

// Read gives io.EOF after the last byte that was asked for.
func (b *blockReader) Read(p []byte) (int, error) {
	for len(b.data) == 0 {
		if b.left == 0 {
			return 0, b.finish()
		}
		if err := b.packet(); err != nil {
			return 0, fmt.Errorf("datanode %s: %w", join(b.node.GetId().GetHostName(), b.node.GetId().GetXferPort()), err)
		}
	}
	n := copy(p, b.data)
	b.data = b.data[n:]
	return n, nil
}

func (b *blockReader) packet() error {
	if b.done {
		return io.ErrUnexpectedEOF
	}
	if err := b.conn.SetReadDeadline(time.Now().Add(b.patience)); err != nil {
		return err
	}
	p, err := b.sum.read(b.conn.in, &b.buf)
	if err != nil {
		return unexpected(err)
	}
	b.done = p.last
	if p.offset != b.next && len(p.data) > 0 {
		return fmt.Errorf("a packet of byte %d came instead of byte %d", p.offset, b.next)
	}
	b.next += int64(len(p.data))
	data := p.data
	cut := min(b.skip, int64(len(data)))
	data, b.skip = data[cut:], b.skip-cut
	data = data[:min(b.left, int64(len(data)))] // the last chunk may be longer than asked for
	b.data, b.left = data, b.left-int64(len(data))
	return nil
}

// finish takes the empty packet behind the data and tells the DataNode that all
// checksums were right. What goes wrong here changes nothing for the reader.
func (b *blockReader) finish() error {
	if !b.done && b.packet() == nil && b.done {
		if m, err := appendMessage(nil, &hdfspb.ClientReadStatus{Status: hdfspb.Status_CHECKSUM_OK.Enum()}); err == nil {
			_, _ = b.conn.Write(m) // a courtesy
		}
	}
	b.done = true
	return io.EOF
}

// Close hangs up.
func (b *blockReader) Close() error {
	if b.stop == nil {
		return errors.New("closed")
	}
	b.stop()
	return b.conn.Close()
}
