package archive

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Known says why r is no archive that Unpack reads, as far as its first bytes
// tell: enough to refuse a wrong file before it is sent anywhere.
func Known(r io.Reader) error {
	head := make([]byte, block)
	n, err := io.ReadFull(r, head)
	switch {
	case errors.Is(err, io.EOF):
		return errors.New("is empty, an archive is expected")
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return cause(err)
	}
	head = head[:n]
	for _, magic := range []string{zstdMagic, gzipMagic, bzip2Magic, zipMagic, emptyZipMagic} {
		if bytes.HasPrefix(head, []byte(magic)) {
			return nil
		}
	}
	if bytes.HasPrefix(head, []byte(xzMagic)) {
		return errXZ
	}
	if _, err := tar.NewReader(bytes.NewReader(head)).Next(); errors.Is(err, tar.ErrHeader) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("is %w", errNeither)
	}
	return nil
}
