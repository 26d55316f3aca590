// Package faulty is a storage.FS that goes wrong on demand, for tests: calls
// come in, a plan says which of them fail and how, the rest go to a real one.
package faulty

import (
	"context"
	"io"
	"io/fs"
	"time"

	"github.com/muster-project/muster/storage"
)

// Op is one kind of call.
type Op string

// The kinds of calls that can go wrong.
const (
	Open   Op = "open"
	Create Op = "create"
	Write  Op = "write"
	Sync   Op = "sync"
	Rename Op = "rename"
	Mkdir  Op = "mkdir"
	List   Op = "list"
	Stat   Op = "stat"
	Remove Op = "remove"
)

// Call is one call.
type Call struct {
	Op   Op
	Path string
	Size int // of a write
}

// Fault is how a call goes wrong. The zero value lets it go right.
type Fault struct {
	Err error
	// After does what was asked before it fails: the answer is lost, not the deed.
	After bool
	// Keep is how many bytes of a write get into the file all the same.
	Keep int
}

// FS passes calls on to another file system as Plan has it. Plan may be called
// by several goroutines at once.
type FS struct {
	storage.FS
	Plan func(Call) Fault
}

var _ storage.FS = FS{}

// do makes one call.
func (f FS) do(op Op, path string, call func() error) error {
	fault := f.Plan(Call{Op: op, Path: path})
	if fault.Err == nil {
		return call()
	}
	if fault.After {
		if err := call(); err != nil {
			return err
		}
	}
	return fault.Err
}

// Open is storage.FS.
func (f FS) Open(ctx context.Context, path string, offset int64) (r io.ReadCloser, err error) {
	err = f.do(Open, path, func() error {
		r, err = f.FS.Open(ctx, path, offset)
		return err
	})
	return r, err
}

// Create is storage.FS. A file whose creation fails afterwards exists, but
// nobody writes to it.
func (f FS) Create(ctx context.Context, path string, mode fs.FileMode) (storage.Writer, error) {
	var w storage.Writer
	err := f.do(Create, path, func() (err error) {
		w, err = f.FS.Create(ctx, path, mode)
		return err
	})
	if err != nil {
		if w != nil {
			_ = w.Close() // the fault is what the test is about
		}
		return nil, err
	}
	return &writer{Writer: w, fs: f, path: path}, nil
}

// Rename is storage.FS.
func (f FS) Rename(ctx context.Context, from, to string) error {
	return f.do(Rename, from, func() error { return f.FS.Rename(ctx, from, to) })
}

// Mkdir is storage.FS.
func (f FS) Mkdir(ctx context.Context, path string, mode fs.FileMode) error {
	return f.do(Mkdir, path, func() error { return f.FS.Mkdir(ctx, path, mode) })
}

// SetTimes never goes wrong here.
func (f FS) SetTimes(ctx context.Context, path string, modified time.Time) error {
	return f.FS.SetTimes(ctx, path, modified)
}

// List is storage.FS.
func (f FS) List(ctx context.Context, path string) (list []fs.FileInfo, err error) {
	err = f.do(List, path, func() error {
		list, err = f.FS.List(ctx, path)
		return err
	})
	return list, err
}

// Stat is storage.FS.
func (f FS) Stat(ctx context.Context, path string) (info fs.FileInfo, err error) {
	err = f.do(Stat, path, func() error {
		info, err = f.FS.Stat(ctx, path)
		return err
	})
	return info, err
}

// Remove is storage.FS.
func (f FS) Remove(ctx context.Context, path string) error {
	return f.do(Remove, path, func() error { return f.FS.Remove(ctx, path) })
}

type writer struct {
	storage.Writer
	fs   FS
	path string
}

func (w *writer) Write(p []byte) (int, error) {
	fault := w.fs.Plan(Call{Op: Write, Path: w.path, Size: len(p)})
	if fault.Err == nil {
		return w.Writer.Write(p)
	}
	if fault.After {
		fault.Keep = len(p)
	}
	n, err := w.Writer.Write(p[:min(fault.Keep, len(p))])
	if err != nil {
		return n, err
	}
	return n, fault.Err
}

func (w *writer) Sync(ctx context.Context) error {
	return w.fs.do(Sync, w.path, func() error { return w.Writer.Sync(ctx) })
}
