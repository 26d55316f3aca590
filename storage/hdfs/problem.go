package hdfs

import (
	"errors"
	"io"

	"github.com/muster-project/muster/hadoop/hdfs"
	"github.com/muster-project/muster/storage"
)

// marked is an error that is one of package storage's, too, and keeps its words.
type marked struct {
	error
	is error
}

func (m *marked) Unwrap() []error { return []error{m.error, m.is} }

// away marks what may go by itself.
func away(err error) error {
	if errors.Is(err, hdfs.ErrAway) {
		return &marked{err, storage.ErrAway}
	}
	return err
}

// reader marks the errors of reading.
type reader struct{ *hdfs.Reader }

func (r *reader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err == io.EOF { //nolint:errorlint // callers compare it
		return n, err
	}
	return n, away(err)
}
