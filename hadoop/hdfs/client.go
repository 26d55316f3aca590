package hdfs

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/muster-project/muster/hadoop/conf"
	"github.com/muster-project/muster/hadoop/rpc"
)

const (
	clientProtocol   = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
	datanodeProtocol = "org.apache.hadoop.hdfs.protocol.ClientDatanodeProtocol"
)

// Auth says who calls; it is asked at each new connection.
type Auth func(context.Context) (rpc.Auth, error)

// Client is one file system as one user sees it. It may be used from many
// goroutines.
type Client struct {
	conf     *conf.Conf
	name     string // of the client, where no file is concerned
	service  string // what tokens for this file system are marked with
	auth     Auth
	namenode *rpc.Client
	mapping  *rpc.Client // also to the NameNode
	nodes    datanode
	bad      blacklist // of those that failed a writer
	away     blacklist // of those that did not answer a reader
	asked    replicas
	renewal  time.Duration // how often what is open is kept so

	mu     sync.Mutex
	closed bool
	open   map[*Writer]bool
	rest   context.CancelFunc // ends the renewal of leases
	work   sync.WaitGroup     // that goroutine
}

// New makes a client of the file system that fs.defaultFS names; nothing is
// connected yet.
func New(c *conf.Conf, auth func(context.Context) (rpc.Auth, error)) (*Client, error) {
	place, err := locate(c)
	if err != nil {
		return nil, err
	}
	if err := unprotected(c); err != nil {
		return nil, err
	}
	dial := (&net.Dialer{KeepAlive: 15 * time.Second}).DialContext
	namenode := rpc.Config{Addresses: place.addresses, Protocol: clientProtocol, Auth: auth,
		// A standby NameNode takes up to a minute and more to step in.
		Retry: rpc.Retry{For: 2 * time.Minute}}
	mapping := namenode
	mapping.Protocol = mappingProtocol
	return &Client{
		conf: c, name: holder(), service: place.service, auth: auth,
		namenode: rpc.New(namenode), mapping: rpc.New(mapping),
		nodes: datanode{
			hostnames: c.Bool("dfs.client.use.datanode.hostname", false),
			patience:  c.Duration("dfs.client.socket-timeout", time.Minute, time.Millisecond),
			dial:      dial,
		},
		renewal: renewal,
		open:    map[*Writer]bool{},
	}, nil
}

// unprotected refuses a configuration under which DataNodes want more than the
// plain protocol.
func unprotected(c *conf.Conf) error {
	if v := c.String("dfs.data.transfer.protection", ""); v != "" {
		return fmt.Errorf("dfs.data.transfer.protection: %s (%s): connections to datanodes cannot be protected yet",
			v, c.Origin("dfs.data.transfer.protection"))
	}
	if c.Bool("dfs.encrypt.data.transfer", false) {
		return fmt.Errorf("dfs.encrypt.data.transfer: true (%s): connections to datanodes cannot be encrypted yet",
			c.Origin("dfs.encrypt.data.transfer"))
	}
	return nil
}

// call asks the NameNode.
func (c *Client) call(ctx context.Context, method string, req, resp proto.Message) error {
	return c.namenode.Call(ctx, method, req, resp)
}

// Close ends what the client does by itself and its connections to NameNode and
// DataNodes, except those of Writers and Readers, which must be closed before.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	if c.rest != nil {
		c.rest()
	}
	c.mu.Unlock()
	c.work.Wait()
	return errors.Join(c.asked.close(), c.mapping.Close(), c.namenode.Close())
}
