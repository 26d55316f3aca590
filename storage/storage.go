// Package storage is the file systems behind one interface: paths and bytes
// come in, durable files go out. Journal, staging, history and claims are built
// on it; README.md states what an implementation must promise.
package storage

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"time"
)

// FS is a file system that can carry a journal. Paths are absolute, slash
// separated. Errors are recognised by errors.Is against fs.ErrNotExist,
// fs.ErrExist and fs.ErrPermission.
type FS interface {
	// Open reads from offset; it sees everything that was synced before the call.
	Open(ctx context.Context, path string, offset int64) (io.ReadCloser, error)
	// Create makes a new file and fails with fs.ErrExist if the path exists, also
	// when several processes race: exactly one wins. It is the claim primitive.
	Create(ctx context.Context, path string, mode fs.FileMode) (Writer, error)
	// Rename never replaces: fs.ErrExist if the target exists.
	Rename(ctx context.Context, from, to string) error
	// Mkdir makes a directory and its parents; an existing one is fine.
	Mkdir(ctx context.Context, path string, mode fs.FileMode) error
	SetTimes(ctx context.Context, path string, modified time.Time) error
	List(ctx context.Context, path string) ([]fs.FileInfo, error)
	Stat(ctx context.Context, path string) (fs.FileInfo, error)
	// Remove removes a file, or a directory with all that is in it; what is not
	// there is fine.
	Remove(ctx context.Context, path string) error
}

// Writer appends to one file. Nothing written is promised before Sync returns.
// After an error the last bytes are undecided: they may or may not be in the file.
type Writer interface {
	io.Writer
	// Sync returns when everything written so far is visible to every reader and
	// survives the death of this process.
	Sync(ctx context.Context) error
	io.Closer
}

// ErrSpent is the identity of a Writer's error after which it takes nothing any
// more: whoever wants to go on needs another file. After other errors the same
// Writer may be tried again.
var ErrSpent = errors.New("this file can no longer be written here")

// ErrAway is the identity of an error that may go by itself: machines of the file
// system do not answer now. The same call may be made again.
var ErrAway = errors.New("storage is away")

// Fencer is implemented by file systems that can end another writer's file.
type Fencer interface {
	// Fence returns when no writer can add to the file any more.
	Fence(ctx context.Context, path string) error
}

// Shower is implemented by file systems on which directories have lists of who
// else may look into them.
type Shower interface {
	// Shown is the same file system, but what is made through it can be read by
	// whom the lists of the directory above let in. Whoever writes what such a
	// one may see writes it so; everything else is its owner's alone.
	Shown() FS
}

// Shown is a file system for what others may see; see Shower.
func Shown(fsys FS) FS {
	if s, ok := fsys.(Shower); ok {
		return s.Shown()
	}
	return fsys
}

// Owned is implemented by what Stat and List give where the file system knows
// whose a file is and no client can say otherwise.
type Owned interface {
	Owner() string
}

// Notifier is implemented by file systems that can tell when something changes.
type Notifier interface {
	// Notify watches a directory that exists. It may miss what other machines do, so
	// whoever waits looks now and then all the same.
	Notify(dir string) (Notice, error)
}

// Notice tells of changes in one directory until it is closed.
type Notice interface {
	// C holds a token when a file of the directory was made or has grown since the
	// last one was taken.
	C() <-chan struct{}
	io.Closer
}

// Filler is implemented by a Writer whose file system keeps safest what ends
// with a whole block. Whoever syncs small pieces and whose format has something
// that means nothing, such as blank lines, fills up; nobody must.
type Filler interface {
	// Fill tells how many more bytes make the file end with a whole block when n
	// more are written.
	Fill(n int) int
}
