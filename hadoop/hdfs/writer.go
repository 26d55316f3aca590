package hdfs

import (
	"context"
	"errors"
	"io/fs"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/muster-project/muster/hadoop/pb/hdfspb"
)

// Writer appends to one file.
//
//	open ──a DataNode of the pipeline fails, somebody takes the file──▶ failed (for good)
//	open, failed ──Close──▶ closed
//
// When it has failed, the bytes since the last flush are undecided: they may or
// may not be in the file; what was flushed before stays. Every later call gives
// the same error, and Err. Other errors leave it open, with all bytes kept: no
// pipeline came up, the NameNode is away, the context of a Flush ended. One
// goroutine uses it at a time.
type Writer struct {
	client *Client
	path   string // as the caller names it
	src    string
	holder string // of the lease, at the NameNode
	file   uint64
	size   int64 // of a block

	mu       sync.Mutex            // one call at a time; the client's goroutine only ever tries it
	previous *hdfspb.ExtendedBlock // the last finished block, with its length
	out      *stream               // the open block
	at       int64                 // where buf begins in the block, a multiple of 512
	buf      []byte                // what is not sent, behind
	sent     int                   // this many bytes of an unfinished chunk that are
	told     bool                  // the NameNode was told of a flush of this block
	err      error
	closed   bool
}

// Write takes bytes; it promises nothing. It sends whole packets and does not
// wait for their acknowledgement, except that only so many may be on their way.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usable(); err != nil {
		return 0, err
	}
	n := 0
	for n < len(p) {
		k := min(len(p)-n, w.room())
		w.buf = append(w.buf, p[n:n+k]...)
		n += k
		if w.room() > 0 {
			continue
		}
		if err := w.spill(context.Background()); err != nil {
			return n, w.fault("cannot write", err)
		}
	}
	return n, nil
}

func (w *Writer) usable() error {
	if w.closed {
		return problem(w.path, "cannot write", fs.ErrClosed)
	}
	return w.err
}

// room is how much fits into the packet, and into the block.
func (w *Writer) room() int {
	return int(min(packetData, w.size-w.at)) - len(w.buf)
}

// spill sends a full packet, and ends the block if it is full.
func (w *Writer) spill(ctx context.Context) error {
	if err := w.push(ctx, false); err != nil {
		return err
	}
	if w.at+int64(len(w.buf)) < w.size {
		return nil
	}
	return w.endBlock(ctx)
}

// push sends what is not sent yet. A packet begins at a multiple of 512, so an
// unfinished chunk goes again with the next one.
func (w *Writer) push(ctx context.Context, sync bool) error {
	if len(w.buf) == w.sent && !sync {
		return nil
	}
	if w.out == nil {
		if len(w.buf) == 0 && w.at == 0 {
			return nil // an empty block cannot be on a disk
		}
		s, err := w.openBlock(ctx)
		if err != nil {
			return err
		}
		w.out, w.told = s, false
	}
	p := packet{offset: w.at, sync: sync, data: w.buf}
	if len(w.buf) == w.sent { // all was sent, but not to the disk
		p.offset, p.data = w.at+int64(w.sent), nil
	}
	if err := w.out.send(p); err != nil {
		return err
	}
	whole := len(w.buf) / chunk * chunk
	w.buf = w.buf[:copy(w.buf, w.buf[whole:])]
	w.at, w.sent = w.at+int64(whole), len(w.buf)
	return nil
}

// Flush returns when everything written so far is acknowledged by every
// DataNode of the pipeline: every reader that opens the file from now on sees
// it, and it survives the death of this process, though not that of all these
// DataNodes' machines at once.
//
// When ctx ends while it waits, the bytes are on their way and a later Flush
// may still succeed.
func (w *Writer) Flush(ctx context.Context) error { return w.flush(ctx, false) }

// Sync is Flush, and the bytes are on the disks. Do not use it on a file that
// others may take while this one writes: a DataNode that is interrupted in it can
// be left with a replica that no recovery finishes.
func (w *Writer) Sync(ctx context.Context) error { return w.flush(ctx, true) }

func (w *Writer) flush(ctx context.Context, sync bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usable(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return problem(w.path, "cannot flush", err)
	}
	if err := w.push(ctx, sync); err != nil {
		return w.fault("cannot flush", err)
	}
	if w.out == nil {
		return nil
	}
	w.out.hurry()
	if err := w.out.acknowledged(ctx); err != nil {
		return w.fault("cannot flush", err)
	}
	if w.told {
		return nil
	}
	// Once for each block, so that it survives a restart of the NameNode.
	if err := w.client.call(ctx, "fsync", &hdfspb.FsyncRequest{Src: &w.src, Client: &w.holder, FileId: &w.file}, &hdfspb.VoidResponse{}); err != nil {
		return w.fault("cannot flush", err)
	}
	w.told = true
	return nil
}

// Err is the error that ended the writer for good, or nil.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// endBlock finishes the open block; the next byte goes to another one.
func (w *Writer) endBlock(ctx context.Context) error {
	length := w.at + int64(len(w.buf))
	if err := w.out.finish(ctx, length); err != nil {
		return err
	}
	w.previous = proto.Clone(w.out.lb.GetB()).(*hdfspb.ExtendedBlock)
	w.previous.NumBytes = proto.Uint64(uint64(length))
	w.out, w.at, w.buf, w.sent = nil, 0, w.buf[:0], 0
	return nil
}

// Close writes what is left and finishes the file. After an error the NameNode is
// asked to close it, which takes seconds after this call, or longer where the
// DataNodes that have it are away.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return problem(w.path, "cannot close", fs.ErrClosed)
	}
	w.closed = true
	defer w.client.drop(w)
	if w.err == nil {
		err := w.finish(context.Background())
		if err == nil {
			return nil
		}
		w.abandon()
		w.err = problem(w.path, "cannot close", err)
	}
	w.release()
	return w.err
}

// releasing is how long a writer that failed waits for the NameNode to hear that.
const releasing = 5 * time.Second

// release lets go of a file that cannot be finished, so that no lease is left
// for the NameNode to wait on. The path may be somebody else's file by now.
func (w *Writer) release() {
	if errors.Is(w.err, LeaseExpired) || errors.Is(w.err, FileNotFound) {
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), releasing)
	defer stop()
	var r hdfspb.FileStatusResponse
	if err := w.client.call(ctx, "getFileInfo", &hdfspb.SrcRequest{Src: &w.src}, &r); err != nil || r.Fs.GetFileId() != w.file {
		return
	}
	_, _ = w.client.RecoverLease(ctx, w.src) // whoever wants the file asks again
}

func (w *Writer) finish(ctx context.Context) error {
	if err := w.push(ctx, false); err != nil {
		return err
	}
	if w.out != nil {
		if err := w.endBlock(ctx); err != nil {
			return err
		}
	}
	req := &hdfspb.CompleteRequest{Src: &w.src, ClientName: &w.holder, Last: w.previous, FileId: &w.file}
	return poll(ctx, func() (bool, error) { // false until a DataNode has reported the last block
		var r hdfspb.BoolResponse
		err := w.client.call(ctx, "complete", req, &r)
		return r.GetResult(), err
	})
}

// fault tells an error, and ends the writer if nothing can follow: the pipeline
// is broken, or the file is no longer ours. Then nobody keeps the file open in
// its name any more, so that the NameNode closes it in time even if nobody asks.
func (w *Writer) fault(what string, err error) error {
	err = problem(w.path, what, err)
	broken := w.out != nil && w.out.broken()
	if !broken && !errors.Is(err, LeaseExpired) && !errors.Is(err, FileNotFound) {
		return err
	}
	w.abandon()
	w.client.drop(w)
	w.err = err
	return err
}

func (w *Writer) abandon() {
	if w.out == nil {
		return
	}
	if node, err := w.out.cause(); node != nil {
		w.client.bad.add(w.client.suspects(context.Background(), w.out.lb, node, err)...)
	}
	w.out.abandon()
	w.out = nil
}

// beat tells the DataNodes that the writer lives, and says whether they are gone. A
// call that is in the middle of something says that itself.
func (w *Writer) beat() (broken bool) {
	if !w.mu.TryLock() {
		return false
	}
	defer w.mu.Unlock()
	if w.out == nil {
		return false
	}
	if w.out.idle() {
		_ = w.out.send(packet{seq: heartbeat}) // the next call tells the error
	}
	return w.out.broken()
}
