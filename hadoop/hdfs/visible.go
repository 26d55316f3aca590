package hdfs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/muster-project/muster/hadoop/pb/hdfspb"
	"github.com/muster-project/muster/hadoop/rpc"
	"github.com/muster-project/muster/hadoop/token"
)

// replicas asks DataNodes over RPC how much of a block that is being written can
// be read. Where no token is needed, the connections are kept while they are used.
type replicas struct {
	mu      sync.Mutex
	clients map[string]*rpc.Client // by address
	closed  bool
}

// errUnrecovered says that a DataNode was restarted while it had a block open. It
// can be read once its file was taken from the writer, who has lost it anyway.
var errUnrecovered = errors.New("its replica waits to be recovered")

// visible is the length up to which an open block was acknowledged. Where no
// DataNode has the replica yet, its writer has got as far as asking for the block.
func (c *Client) visible(ctx context.Context, lb *hdfspb.LocatedBlock) (int64, error) {
	missing := 0
	var errs []error
	for _, n := range c.away.last(lb.GetLocs()) {
		length, err := c.visibleAt(ctx, n.GetId(), lb)
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		_, answered := errors.AsType[*rpc.RemoteError](err)
		switch {
		case err == nil && length >= 0:
			return length, nil
		case err == nil:
			err = errUnrecovered
		case errors.Is(err, ReplicaNotFound):
			missing++
		case !answered:
			c.away.add(n)
		}
		errs = append(errs, fmt.Errorf("datanode %s: %w", c.nodes.rpcAddress(n.GetId()), err))
	}
	if len(errs) == 0 {
		return 0, errors.New("no datanode has reported the open block yet")
	}
	if missing == len(errs) {
		return 0, nil
	}
	return 0, errors.Join(errs...)
}

func (c *Client) visibleAt(ctx context.Context, n *hdfspb.DatanodeID, lb *hdfspb.LocatedBlock) (int64, error) {
	client, done, err := c.replicaClient(n, lb)
	if err != nil {
		return 0, err
	}
	defer done()
	var r hdfspb.VisibleLengthResponse
	err = client.Call(ctx, "getReplicaVisibleLength", &hdfspb.VisibleLengthRequest{Block: lb.GetB()}, &r)
	return int64(r.GetLength()), err
}

// replicaClient gives a client of one DataNode, and what to do with it afterwards.
func (c *Client) replicaClient(n *hdfspb.DatanodeID, lb *hdfspb.LocatedBlock) (*rpc.Client, func(), error) {
	address := c.nodes.rpcAddress(n)
	cfg := rpc.Config{Addresses: []string{address}, Protocol: datanodeProtocol, Auth: c.auth, Least: c.least, Dial: c.nodes.dial,
		Timeout: answering, Connect: connecting, Retry: rpc.Never} // another replica is asked instead
	if len(lb.GetBlockToken().GetIdentifier()) > 0 {
		// The connection itself must be made with the block's token.
		t := token.FromProto(lb.GetBlockToken())
		cfg.Auth = func(context.Context) (rpc.Auth, error) { return rpc.Auth{Token: t}, nil }
		client := rpc.New(cfg)
		return client, func() { _ = client.Close() }, nil // it was for one call
	}
	c.asked.mu.Lock()
	defer c.asked.mu.Unlock()
	if c.asked.closed {
		return nil, nil, rpc.ErrClosed
	}
	if c.asked.clients == nil {
		c.asked.clients = map[string]*rpc.Client{}
	}
	client := c.asked.clients[address]
	if client == nil {
		cfg.Idle = 30 * time.Second
		client = rpc.New(cfg)
		c.asked.clients[address] = client
	}
	return client, func() {}, nil
}

func (r *replicas) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	var errs []error
	for _, client := range r.clients {
		errs = append(errs, client.Close())
	}
	return errors.Join(errs...)
}
