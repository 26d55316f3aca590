package container

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"time"

	"github.com/muster-project/muster/hadoop/conf"
	"github.com/muster-project/muster/hadoop/hdfs"
	"github.com/muster-project/muster/internal/frugal"
	"github.com/muster-project/muster/storage"
	files "github.com/muster-project/muster/storage/hdfs"
)

// opener opens a file system and gives what closes it.
type opener func() (storage.FS, func() error, error)

// hdfsOpener opens the HDFS of a configuration.
func hdfsOpener(values map[string]string, user string, mine *tokens) opener {
	return func() (storage.FS, func() error, error) {
		c := conf.New(values, conf.User(user))
		place, err := c.NameNodes("")
		if err != nil {
			return nil, nil, fmt.Errorf("storage: %w", err)
		}
		client, err := hdfs.New(c, mine.auth(place, user))
		if err != nil {
			return nil, nil, fmt.Errorf("storage: %w", err)
		}
		return files.New(client), client.Close, nil
	}
}

// lazy is a file system that is opened with the first call. Most executors need
// theirs seldom, and some never.
type lazy struct {
	open opener

	mu   sync.Mutex
	fs   storage.FS
	stop func() error
}

var (
	_ storage.FS     = (*lazy)(nil)
	_ storage.Shower = (*lazy)(nil)
)

func (l *lazy) get() (storage.FS, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fs == nil {
		frugal.Drop() // what started the task gives way to what writes its logs
		var err error
		if l.fs, l.stop, err = l.open(); err != nil {
			return nil, err
		}
	}
	return l.fs, nil
}

func (l *lazy) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fs == nil {
		return nil
	}
	return l.stop()
}

// Shown is storage.Shower.
func (l *lazy) Shown() storage.FS { return shown{l} }

// shown is the same for files that others may see.
type shown struct{ *lazy }

func (s shown) Create(ctx context.Context, path string, mode fs.FileMode) (storage.Writer, error) {
	f, err := s.get()
	if err != nil {
		return nil, err
	}
	return storage.Shown(f).Create(ctx, path, mode)
}

func (s shown) Mkdir(ctx context.Context, path string, mode fs.FileMode) error {
	f, err := s.get()
	if err != nil {
		return err
	}
	return storage.Shown(f).Mkdir(ctx, path, mode)
}

// Open is storage.FS.
func (l *lazy) Open(ctx context.Context, path string, offset int64) (io.ReadCloser, error) {
	f, err := l.get()
	if err != nil {
		return nil, err
	}
	return f.Open(ctx, path, offset)
}

// Create is storage.FS.
func (l *lazy) Create(ctx context.Context, path string, mode fs.FileMode) (storage.Writer, error) {
	f, err := l.get()
	if err != nil {
		return nil, err
	}
	return f.Create(ctx, path, mode)
}

// Rename is storage.FS.
func (l *lazy) Rename(ctx context.Context, from, to string) error {
	f, err := l.get()
	if err != nil {
		return err
	}
	return f.Rename(ctx, from, to)
}

// Mkdir is storage.FS.
func (l *lazy) Mkdir(ctx context.Context, path string, mode fs.FileMode) error {
	f, err := l.get()
	if err != nil {
		return err
	}
	return f.Mkdir(ctx, path, mode)
}

// SetTimes is storage.FS.
func (l *lazy) SetTimes(ctx context.Context, path string, modified time.Time) error {
	f, err := l.get()
	if err != nil {
		return err
	}
	return f.SetTimes(ctx, path, modified)
}

// List is storage.FS.
func (l *lazy) List(ctx context.Context, path string) ([]fs.FileInfo, error) {
	f, err := l.get()
	if err != nil {
		return nil, err
	}
	return f.List(ctx, path)
}

// Stat is storage.FS.
func (l *lazy) Stat(ctx context.Context, path string) (fs.FileInfo, error) {
	f, err := l.get()
	if err != nil {
		return nil, err
	}
	return f.Stat(ctx, path)
}

// Remove is storage.FS.
func (l *lazy) Remove(ctx context.Context, path string) error {
	f, err := l.get()
	if err != nil {
		return err
	}
	return f.Remove(ctx, path)
}
