package hdfs

import (
	"context"

	"github.com/muster-project/muster/hadoop/hdfs"
	"github.com/muster-project/muster/storage"
)

// block is what a DataNode sums up and writes at once.
const block = 512

// writer appends to one file.
type writer struct {
	*hdfs.Writer
	size int64 // written so far
}

func (w *writer) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	w.size += int64(n)
	return n, w.told(err)
}

// told marks an error after which nothing can be written.
func (w *writer) told(err error) error {
	if err != nil && w.Err() != nil {
		return &marked{err, storage.ErrSpent}
	}
	return away(err)
}

// Sync flushes. It does not force the bytes to the disks of the DataNodes: one
// that is interrupted in that by a takeover may never finish it.
func (w *writer) Sync(ctx context.Context) error { return w.told(w.Flush(ctx)) }

// Fill is storage.Filler: bytes of a chunk that was synced unfinished are written
// again with the next ones, and a DataNode that dies then can lose them.
func (w *writer) Fill(n int) int { return int(-(w.size + int64(n)) & (block - 1)) }
