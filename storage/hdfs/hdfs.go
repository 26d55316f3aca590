// Package hdfs is storage.FS over HDFS: paths come in, calls to NameNode and
// DataNodes go out. Sync is an acknowledged flush: every reader on every machine
// sees the bytes, and they survive the death of every process; ../README.md says
// what else.
package hdfs

import (
	"context"
	"io"
	"io/fs"
	"time"

	"github.com/muster-project/muster/hadoop/hdfs"
	"github.com/muster-project/muster/storage"
)

// FS is a file system in HDFS.
type FS struct {
	client *hdfs.Client
	shown  bool
}

var (
	_ storage.FS     = (*FS)(nil)
	_ storage.Fencer = (*FS)(nil)
	_ storage.Shower = (*FS)(nil)
	_ storage.Filler = (*writer)(nil)
)

// New makes it; the client stays the caller's to close.
func New(client *hdfs.Client) *FS { return &FS{client: client} }

// Client is the client that it was made with, for what storage.FS has no word for.
func (f *FS) Client() *hdfs.Client { return f.client }

// Shown is storage.Shower: in HDFS the group bits of a new file are the most that
// the default list of its directory can let anybody do. The owning group itself
// has no right in such a list.
func (f *FS) Shown() storage.FS { return &FS{client: f.client, shown: true} }

func (f *FS) mode(m fs.FileMode) fs.FileMode {
	if f.shown {
		m |= m >> 3 & 0o050
	}
	return m
}

// Open reads a file from offset; ctx bounds the reading, too.
func (f *FS) Open(ctx context.Context, path string, offset int64) (io.ReadCloser, error) {
	r, err := f.client.Open(ctx, path, offset)
	if err != nil {
		return nil, away(err)
	}
	return &reader{r}, nil
}

// Create makes a new file with exactly this mode.
func (f *FS) Create(ctx context.Context, path string, mode fs.FileMode) (storage.Writer, error) {
	w, err := f.client.Create(ctx, path, hdfs.Options{Mode: f.mode(mode)})
	if err != nil {
		return nil, away(err)
	}
	return &writer{Writer: w}, nil
}

// Rename moves a file or directory to a name that is free.
func (f *FS) Rename(ctx context.Context, from, to string) error {
	return away(f.client.Rename(ctx, from, to))
}

// Mkdir makes a directory and the missing ones above it.
func (f *FS) Mkdir(ctx context.Context, path string, mode fs.FileMode) error {
	return away(f.client.Mkdir(ctx, path, f.mode(mode)))
}

// SetTimes sets when a path was last modified, to the millisecond.
func (f *FS) SetTimes(ctx context.Context, path string, modified time.Time) error {
	return away(f.client.SetTimes(ctx, path, modified))
}

// List gives what is in a directory, by name.
func (f *FS) List(ctx context.Context, path string) ([]fs.FileInfo, error) {
	list, err := f.client.List(ctx, path)
	if err != nil {
		return nil, away(err)
	}
	out := make([]fs.FileInfo, len(list))
	for i, info := range list {
		out[i] = info
	}
	return out, nil
}

// Stat describes a path. The size of a file that is being written leaves out its
// open block.
func (f *FS) Stat(ctx context.Context, path string) (fs.FileInfo, error) {
	info, err := f.client.Stat(ctx, path)
	if err != nil {
		return nil, away(err)
	}
	return info, nil
}

// Remove removes a path with all that is in it.
func (f *FS) Remove(ctx context.Context, path string) error {
	_, err := f.client.Delete(ctx, path)
	return away(err)
}
