package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/storage/archive"
)

// store is where blobs go before a job that names them is submitted.
type store interface {
	HasBlob(ctx context.Context, sha string) (bool, error)
	PutBlob(ctx context.Context, sha string, open func() (io.ReadCloser, error)) error
}

// stage packs the work directory and the files of a plan, uploads what is not
// there yet, and puts the addresses into the plan.
func (e *Env) stage(ctx context.Context, p *plan.Plan, to store, tell func(format string, args ...any)) error {
	var problems []error
	if p.Work.Source != "" && !p.Work.InPlace {
		sha, err := e.stageDir(ctx, p.Work.Source, to, tell)
		if err != nil {
			problems = append(problems, err)
		}
		p.Work.Archive = sha
	}
	for i := range p.Work.Files {
		if err := e.stageFile(ctx, &p.Work.Files[i], to, tell); err != nil {
			problems = append(problems, err)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return errors.Join(problems...)
}

func (e *Env) stageFile(ctx context.Context, f *plan.File, to store, tell func(string, ...any)) error {
	path := strings.TrimPrefix(f.Source, "file://")
	if f.Remote() {
		return nil // nodes fetch it themselves; the backend has said whether they can
	}
	info, err := os.Stat(path)
	if err != nil {
		return faultf(exitJobFile, "%s: %w", f.Source, cause(err))
	}
	f.Mode = uint32(info.Mode().Perm())
	if info.IsDir() {
		f.Unpack = true
		f.Blob, err = e.stageDir(ctx, path, to, tell)
		return err
	}
	open := func() (io.ReadCloser, error) { return os.Open(path) }
	f.Blob, err = upload(ctx, open, to)
	if err != nil {
		return fmt.Errorf("%s: %w", f.Source, cause(err))
	}
	return nil
}

// largePack is where a person wants to know what takes so long.
const largePack = 100 << 20

func (e *Env) stageDir(ctx context.Context, dir string, to store, tell func(string, ...any)) (string, error) {
	paths, err := e.Paths()
	if err != nil {
		return "", err
	}
	temp, err := os.CreateTemp(e.Getenv("TMPDIR"), "muster-pack-*")
	if err != nil {
		return "", faultf(exitRefused, "%s: cannot pack the directory: %w", dir, err).hint("set TMPDIR to a directory with room")
	}
	defer os.Remove(temp.Name())
	defer temp.Close()
	sum, err := archive.Pack(ctx, temp, dir, archive.Options{Exclude: []string{paths.State}})
	if err != nil {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		return "", fault(exitRefused, err)
	}
	for _, s := range sum.Skipped {
		tell("warning: %s: left out: %s", e.relative(dir), s)
	}
	if sum.Bytes > largePack {
		tell("%s: %s files, %s are sent; .musterignore leaves out what tasks do not need", e.relative(dir), fmt.Sprint(sum.Files), size(sum.Bytes))
	}
	return upload(ctx, func() (io.ReadCloser, error) { return os.Open(temp.Name()) }, to)
}

// upload stores what open gives, unless it is stored already.
func upload(ctx context.Context, open func() (io.ReadCloser, error), to store) (string, error) {
	in, err := open()
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	_, err = io.Copy(hash, in)
	if err := errors.Join(err, in.Close()); err != nil {
		return "", err
	}
	sha := hex.EncodeToString(hash.Sum(nil))
	if has, err := to.HasBlob(ctx, sha); err != nil || has {
		return sha, err
	}
	return sha, to.PutBlob(ctx, sha, open)
}
