package hdfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"syscall"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/muster-project/muster/hadoop/pb/hdfspb"
)

// Reader reads a file from an offset up to the length that it had when it was
// opened. What a replica gives is verified by its checksums; where one fails,
// another is read. One goroutine uses it at a time.
type Reader struct {
	client *Client
	ctx    context.Context
	path   string
	src    string
	holder string

	blocks []span
	at     int64 // of the next byte
	end    int64
	cur    *blockReader
	failed map[string]bool // DataNodes, by uuid, for the block at hand
	rounds int             // of all replicas, without a byte
	fresh  bool            // locations and tokens were asked for anew, and no byte was read since
	err    error
}

// span is one block in the file.
type span struct {
	lb         *hdfspb.LocatedBlock
	start, end int64
}

// rounds is how often the NameNode is asked again where no replica can be read,
// some 16 s in all: blocks move, get another stamp when a file is taken from its
// writer, and a DataNode that is restarted comes back.
const (
	rounds = 8
	// unrecovered bounds the rounds for a block that waits to be recovered: that
	// takes somebody who asks for it.
	unrecovered = 3
)

// Open opens a file for reading from offset. Everything that was flushed before
// the call is read, also while the file is being written; perhaps a little more.
// An offset at or beyond the end reads nothing.
//
// ctx bounds the reading, too.
func (c *Client) Open(ctx context.Context, path string, offset int64) (*Reader, error) {
	clean, err := check(ctx, path)
	if err != nil {
		return nil, err
	}
	if offset < 0 {
		return nil, problem(path, "cannot open", syscall.EINVAL)
	}
	r := &Reader{client: c, ctx: ctx, path: path, src: clean, holder: c.name, at: offset}
	for n := 1; ; n++ {
		r.blocks, err = r.locate(offset)
		if err == nil || n == rounds || !errors.Is(err, errBlock) || n == unrecovered && errors.Is(err, errUnrecovered) ||
			sleep(ctx, backoff(n)) != nil {
			break
		}
	}
	if errors.Is(err, errBlock) {
		err = fmt.Errorf("%w: %w", ErrAway, err)
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, FileNotFound) {
		// This is also what is said of a directory.
		if i, serr := c.Stat(ctx, path); serr == nil && i.IsDir() {
			err = syscall.EISDIR
		}
	}
	if err != nil {
		return nil, problem(path, "cannot open", err)
	}
	if n := len(r.blocks); n > 0 {
		r.end = r.blocks[n-1].end
	}
	return r, nil
}

// backoff is the pause after the nth round, counted from 1.
func backoff(n int) time.Duration {
	return min(250*time.Millisecond<<min(n-1, 10), 4*time.Second)
}

// errBlock says that the length of an open block cannot be told now.
var errBlock = errors.New("the block that is being written")

// locate asks where the blocks from offset on are, and how long the open one is.
func (r *Reader) locate(offset int64) ([]span, error) {
	var resp hdfspb.GetBlockLocationsResponse
	err := r.client.call(r.ctx, "getBlockLocations", &hdfspb.GetBlockLocationsRequest{Src: &r.src,
		Offset: proto.Uint64(uint64(offset)), Length: proto.Uint64(math.MaxInt64 - uint64(offset))}, &resp)
	if err != nil {
		return nil, err
	}
	l := resp.GetLocations()
	switch {
	case l == nil:
		return nil, fs.ErrNotExist
	case l.EcPolicy != nil:
		return nil, errors.New("it is erasure coded, which this client cannot read")
	case l.FileEncryptionInfo != nil:
		return nil, errors.New("it is encrypted, which this client cannot read")
	}
	var out []span
	for _, lb := range l.GetBlocks() {
		if l.GetUnderConstruction() && !l.GetIsLastBlockComplete() && lb.GetB().GetBlockId() == l.GetLastBlock().GetB().GetBlockId() {
			continue // it comes below, with its true length
		}
		start := int64(lb.GetOffset())
		out = append(out, span{lb, start, start + int64(lb.GetB().GetNumBytes())})
	}
	if lb := l.GetLastBlock(); lb != nil && l.GetUnderConstruction() && !l.GetIsLastBlockComplete() {
		n, err := r.client.visible(r.ctx, lb)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errBlock, err)
		}
		start := int64(lb.GetOffset())
		out = append(out, span{lb, start, start + n})
	}
	return out, nil
}

// Read reads the next bytes.
func (r *Reader) Read(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	if len(p) == 0 {
		return 0, nil
	}
	for r.at < r.end {
		n, err := r.read(p)
		r.at += int64(n)
		if n > 0 {
			r.rounds, r.fresh = 0, false
			return n, nil
		}
		if err != nil {
			r.err = problem(r.path, fmt.Sprintf("cannot read byte %d", r.at), err)
			return 0, r.err
		}
	}
	r.err = io.EOF
	return 0, io.EOF
}

// read reads from the open replica, or opens the next; no bytes and no error
// mean that it is to be called again.
func (r *Reader) read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	if r.cur == nil {
		return 0, r.next()
	}
	n, err := r.cur.Read(p[:min(int64(len(p)), r.end-r.at)])
	if err == nil || n > 0 {
		return n, nil
	}
	node := r.cur.node
	r.release()
	if errors.Is(err, io.EOF) { // the block's end
		r.failed = nil
		return 0, nil
	}
	if r.ctx.Err() != nil {
		return 0, r.ctx.Err()
	}
	return 0, r.fault(node, err)
}

// next opens a replica of the block that holds the next byte.
func (r *Reader) next() error {
	for _, s := range r.blocks {
		if r.at < s.start || r.at >= s.end {
			continue
		}
		for _, n := range r.client.away.last(s.lb.GetLocs()) {
			if r.failed[n.GetId().GetDatanodeUuid()] {
				continue
			}
			cur, err := r.client.readBlock(r.ctx, r.holder, n, s.lb, r.at-s.start, min(s.end, r.end)-r.at)
			if err == nil {
				r.cur = cur
				return nil
			}
			if r.ctx.Err() != nil {
				return r.ctx.Err()
			}
			if errors.Is(err, errStale) {
				return r.renew(err)
			}
			if _, refused := errors.AsType[*refusal](err); !refused {
				r.client.away.add(n)
			}
			return r.fault(n, err)
		}
		return r.again(errors.New("no datanode has the block"))
	}
	return r.again(io.ErrUnexpectedEOF)
}

// fault leaves a DataNode out, and asks the NameNode again when none is left.
func (r *Reader) fault(n *hdfspb.DatanodeInfo, err error) error {
	if r.failed == nil {
		r.failed = map[string]bool{}
	}
	r.failed[n.GetId().GetDatanodeUuid()] = true
	for _, s := range r.blocks {
		if r.at < s.start || r.at >= s.end {
			continue
		}
		for _, n := range s.lb.GetLocs() {
			if !r.failed[n.GetId().GetDatanodeUuid()] {
				return nil
			}
		}
	}
	return r.again(err)
}

// renew starts over with fresh tokens: those of a reader that reads for hours are
// too old. If a DataNode takes fresh ones no better, that is an error like others.
func (r *Reader) renew(err error) error {
	if r.fresh {
		return r.again(err)
	}
	r.fresh = true
	return r.relocate()
}

// again starts over with fresh locations, some time later; err is told when that
// was done often enough.
func (r *Reader) again(err error) error {
	if r.rounds++; r.rounds >= rounds {
		if !errors.Is(err, errChecksum) {
			err = fmt.Errorf("%w: %w", ErrAway, err)
		}
		return err
	}
	if serr := sleep(r.ctx, backoff(r.rounds)); serr != nil {
		return serr
	}
	return r.relocate()
}

func (r *Reader) relocate() error {
	blocks, lerr := r.locate(r.at)
	if errors.Is(lerr, errBlock) {
		return nil // the old ones are tried again
	}
	if lerr != nil {
		return lerr
	}
	r.blocks, r.failed = blocks, nil
	return nil
}

func (r *Reader) release() {
	if r.cur != nil {
		_ = r.cur.Close() // only read from
		r.cur = nil
	}
}

// Close ends the reading.
func (r *Reader) Close() error {
	r.release()
	r.err = problem(r.path, "cannot read", errors.New("closed"))
	return nil
}
