package conf

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// ErrMissing is the identity of an error about a key without a value.
var ErrMissing = errors.New("not set")

// Missing says which key has no value and in which file one would look for it.
type Missing struct {
	Key  string
	File string
}

func (m *Missing) Error() string {
	return fmt.Sprintf("%s: not set: looked for in %s", m.Key, m.File)
}

func (*Missing) Unwrap() error { return ErrMissing }

// Find returns a value that must be there, without white space around it; the
// error is a *Missing.
func (c *Conf) Find(key string) (string, error) {
	if v := c.String(key, ""); v != "" {
		return v, nil
	}
	return "", c.missing(key)
}

func (c *Conf) missing(key string) error {
	return &Missing{Key: key, File: filepath.Join(c.dir, file(key))}
}

// file is where sites set a key by custom.
func file(key string) string {
	switch {
	case strings.HasPrefix(key, "yarn.resource-types"):
		return "resource-types.xml"
	case strings.HasPrefix(key, "yarn."):
		return "yarn-site.xml"
	case strings.HasPrefix(key, "dfs."):
		return "hdfs-site.xml"
	}
	return "core-site.xml"
}
