package blob

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
)

// stream ends a long copy with its context.
type stream struct {
	ctx context.Context
	r   io.Reader
}

func (s *stream) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.r.Read(p)
}

// verified compares the hash where the blob ends.
type verified struct {
	io.ReadCloser
	path string
	sha  string
	hash hash.Hash
}

func (v *verified) Read(p []byte) (int, error) {
	n, err := v.ReadCloser.Read(p)
	v.hash.Write(p[:n])
	if errors.Is(err, io.EOF) && hex.EncodeToString(v.hash.Sum(nil)) != v.sha {
		return n, fmt.Errorf("%s: damaged: its content is not that of its address", v.path)
	}
	return n, err
}
