package hdfs

import (
	"fmt"
	"net"
	"net/url"
	"slices"

	"github.com/muster-project/muster/hadoop/conf"
)

// place is where a file system is.
type place struct {
	addresses []string // of NameNodes that stand in for each other
	service   string   // of its tokens: "ip:port", or "ha-hdfs:name"
}

const port = "8020"

// locate finds the NameNodes of fs.defaultFS. Its host may be a name that only
// the configuration knows, with one NameNode or several behind it.
func locate(c *conf.Conf) (place, error) {
	v, err := c.Find("fs.defaultFS")
	if err != nil {
		return place{}, err
	}
	u, err := url.Parse(v)
	if err != nil || u.Scheme != "hdfs" || u.Host == "" {
		return place{}, fmt.Errorf("fs.defaultFS: %s (%s) is no HDFS: want hdfs://host:port or hdfs://name", v, c.Origin("fs.defaultFS"))
	}
	name := u.Host
	if ids := c.Strings("dfs.ha.namenodes." + name); len(ids) > 0 {
		p := place{service: "ha-hdfs:" + name}
		for _, id := range ids {
			address, err := c.Find("dfs.namenode.rpc-address." + name + "." + id)
			if err != nil {
				return place{}, err
			}
			p.addresses = append(p.addresses, withPort(address))
		}
		return p, nil
	}
	if slices.Contains(c.Strings("dfs.nameservices"), name) {
		if address := c.String("dfs.namenode.rpc-address."+name, ""); address != "" {
			name = address
		}
	}
	address := withPort(name)
	return place{addresses: []string{address}, service: address}, nil
}

func withPort(address string) string {
	if _, _, err := net.SplitHostPort(address); err == nil {
		return address
	}
	return net.JoinHostPort(address, port)
}
