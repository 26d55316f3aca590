package conf

import (
	"errors"
	"fmt"
	"net/url"
)

// Filesystem is one HDFS: what its URIs name and where its NameNodes are.
type Filesystem struct {
	Authority string   // what stands behind hdfs://, host:port or a nameservice
	Service   string   // ha-hdfs:NAME, the service of its delegation tokens; empty where that is an address
	NameNodes []Server // several where they stand in for each other
}

// ErrNotHDFS says that a file system's URI is of another kind.
var ErrNotHDFS = errors.New("not HDFS")

const nameNodePort = 8020

// NameNodes tells where the NameNodes of a URI such as hdfs://prod/user are; an
// empty URI, or one without a host, stands for fs.defaultFS. A host that
// dfs.nameservices lists is a name; any other is an address, whose port is 8020
// by default.
func (c *Conf) NameNodes(uri string) (Filesystem, error) {
	const defaultFS = "fs.defaultFS"
	u, err := url.Parse(uri)
	if err != nil {
		return Filesystem{}, fmt.Errorf("%s: %w", uri, err)
	}
	what := uri
	if u.Host == "" {
		base, err := c.Find(defaultFS)
		if err != nil {
			return Filesystem{}, err
		}
		what = fmt.Sprintf("%s: %s (%s)", defaultFS, base, c.Origin(defaultFS))
		if u, err = url.Parse(base); err != nil {
			return Filesystem{}, fmt.Errorf("%s: %w", what, err)
		}
	}
	if u.Scheme != "hdfs" || u.Host == "" {
		return Filesystem{}, fmt.Errorf("%s: %w", what, ErrNotHDFS)
	}
	for _, name := range c.Strings("dfs.nameservices") {
		if name == u.Host {
			return c.nameservice(name)
		}
	}
	address, err := hostPort(u.Host, nameNodePort)
	if err != nil {
		return Filesystem{}, fmt.Errorf("%s: %w", what, err)
	}
	return Filesystem{Authority: u.Host, NameNodes: []Server{{Address: address, Key: defaultFS}}}, nil
}

// nameservice reads the NameNodes of a name.
func (c *Conf) nameservice(name string) (Filesystem, error) {
	const key = "dfs.namenode.rpc-address."
	fs := Filesystem{Authority: name}
	ids := c.Strings("dfs.ha.namenodes." + name)
	if len(ids) == 0 {
		one, found, err := c.server("", key+name, nameNodePort)
		if !found {
			err = c.missing(key + name)
		}
		fs.NameNodes = []Server{one}
		return fs, err
	}
	fs.Service = "ha-hdfs:" + name
	for _, id := range ids {
		one, found, err := c.server(id, key+name+"."+id, nameNodePort)
		if !found {
			err = c.missing(key + name + "." + id)
		}
		if err != nil {
			return Filesystem{}, err
		}
		fs.NameNodes = append(fs.NameNodes, one)
	}
	return fs, nil
}
