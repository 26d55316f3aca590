package storage

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"time"
)

// Publish makes a file with all of its content at once: who sees it sees it
// whole. fs.ErrExist says that somebody was faster; theirs stays. Until it is
// whole it lies beside its name under one that begins with ".new-".
func Publish(ctx context.Context, fsys FS, name string, mode fs.FileMode, write func(io.Writer) error) error {
	if _, err := fsys.Stat(ctx, name); err == nil {
		return fmt.Errorf("%s: %w", name, fs.ErrExist)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	temp := path.Join(path.Dir(name), ".new-"+path.Base(name)+"-"+rand.Text()[:8])
	w, err := fsys.Create(ctx, temp, mode)
	if err != nil {
		return err
	}
	err = write(w)
	if err == nil {
		err = w.Sync(ctx)
	}
	err = errors.Join(err, w.Close())
	if err == nil {
		err = fsys.Rename(ctx, temp, name)
	}
	if err != nil {
		err = errors.Join(err, discard(ctx, fsys, temp))
	}
	return err
}

// PublishBytes is Publish for what is in memory already.
func PublishBytes(ctx context.Context, fsys FS, name string, mode fs.FileMode, data []byte) error {
	return Publish(ctx, fsys, name, mode, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// discard removes what is of no use, also when the caller has given up.
func discard(ctx context.Context, fsys FS, name string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), discardTime)
	defer cancel()
	return fsys.Remove(ctx, name)
}

const discardTime = 10 * time.Second
