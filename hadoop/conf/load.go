package conf

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
)

// Files are what Load reads, in this order: the later wins.
var Files = []string{"core-site.xml", "hdfs-site.xml", "yarn-site.xml", "resource-types.xml"}

// ErrNone says that a directory holds none of Files, or does not exist.
var ErrNone = errors.New("no site file there")

// Load reads the site files of a configuration directory, such as
// HADOOP_CONF_DIR names. Single files may be missing; if all are, the error is
// ErrNone.
func Load(dir string, with ...Option) (*Conf, error) {
	if dir == "" {
		return nil, fmt.Errorf("configuration directory: not given: %w", ErrNone)
	}
	c := empty(with)
	c.dir = dir
	found := false
	for _, name := range Files {
		f, err := os.Open(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: cannot be read: %w", filepath.Join(dir, name), err)
		}
		found = true
		err = c.read(name, f, func(href string) (io.ReadCloser, error) { return openBeside(dir, href) })
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
	}
	if !found {
		return nil, fmt.Errorf("%s: %w", dir, ErrNone)
	}
	return c, nil
}

// openBeside opens what an include names: a path, relative to the directory, or
// a file URL. Nothing is fetched over the network.
func openBeside(dir, href string) (io.ReadCloser, error) {
	u, err := url.Parse(href)
	if err != nil {
		return nil, err
	}
	switch u.Scheme {
	case "file":
		return os.Open(u.Path)
	case "":
		if filepath.IsAbs(u.Path) {
			return os.Open(u.Path)
		}
		return os.Open(filepath.Join(dir, filepath.FromSlash(u.Path)))
	}
	return nil, fmt.Errorf("only files are included, not %s", u.Scheme)
}

// Read reads one document of XML. The name is what Origin and errors show, and
// what relative includes are resolved against; include opens what an include
// names, already resolved, and may be nil when there are to be none.
func Read(name string, r io.Reader, include func(href string) (io.ReadCloser, error), with ...Option) (*Conf, error) {
	c := empty(with)
	if err := c.read(name, r, include); err != nil {
		return nil, err
	}
	return c, nil
}
