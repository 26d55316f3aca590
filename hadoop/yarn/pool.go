package yarn

import (
	"context"
	"fmt"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/muster-project/muster/hadoop/pb/yarnpb"
	"github.com/muster-project/muster/hadoop/rpc"
	"github.com/muster-project/muster/hadoop/token"
)

const containerProtocol = "org.apache.hadoop.yarn.api.ContainerManagementProtocolPB"

// Limits bound a pool of NodeManager connections; zero means the default.
type Limits struct {
	Open    int           // connections at once (64): a call beyond waits for one to come free
	Idle    time.Duration // how long an unused one stays open (15 s)
	Timeout time.Duration // how long one call may take over all its tries (1 min)
}

// Nodes calls NodeManagers, each with the token that the ResourceManager gave
// for it. Methods may be called by many at once.
type Nodes struct {
	limits Limits
	slots  chan struct{} // one for each call on its way
	done   chan struct{}
	sweeps sync.WaitGroup

	mu     sync.Mutex
	closed bool
	tokens map[string]*token.Token
	links  map[string]*link
}

// link is one open connection. It is closed when it is idle, or its token is old,
// and nobody uses it.
type link struct {
	client *rpc.Client
	users  int
	stale  bool
	since  time.Time // of the last use
}

// NewNodes makes an empty pool. Close ends it.
func NewNodes(l Limits) *Nodes {
	if l.Open <= 0 {
		l.Open = 64
	}
	if l.Idle <= 0 {
		l.Idle = 15 * time.Second
	}
	if l.Timeout <= 0 {
		l.Timeout = time.Minute
	}
	n := &Nodes{
		limits: l, slots: make(chan struct{}, l.Open), done: make(chan struct{}),
		tokens: map[string]*token.Token{}, links: map[string]*link{},
	}
	n.sweeps.Go(n.sweep)
	return n
}

// Keep takes the tokens of a register or allocate answer: the ResourceManager
// sends each once. A newer one replaces the older, and so does its connection.
func (n *Nodes) Keep(tokens []*yarnpb.NMToken) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, t := range tokens {
		addr := NodeAddr(t.GetNodeId())
		n.tokens[addr] = token.FromProto(t.GetToken())
		if l := n.links[addr]; l != nil {
			n.retire(addr, l)
		}
	}
}

// Has tells that there is a token for the node.
func (n *Nodes) Has(addr string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.tokens[addr] != nil
}

// Close ends all connections and waits for what the pool runs itself. Calls on
// their way fail.
func (n *Nodes) Close() error {
	n.mu.Lock()
	if !n.closed {
		n.closed = true
		close(n.done)
	}
	for addr, l := range n.links {
		l.client.Close()
		delete(n.links, addr)
	}
	n.mu.Unlock()
	n.sweeps.Wait()
	return nil
}

func (n *Nodes) call(ctx context.Context, addr, method string, req, resp proto.Message) error {
	ctx, cancel := context.WithTimeout(ctx, n.limits.Timeout)
	defer cancel()
	select {
	case n.slots <- struct{}{}:
		defer func() { <-n.slots }()
	case <-ctx.Done():
		return fmt.Errorf("%s: %s: %w", addr, method, context.Cause(ctx))
	}
	l, err := n.take(addr)
	if err != nil {
		return err
	}
	defer n.give(addr, l)
	if err := l.client.Call(ctx, method, req, resp); err != nil {
		return fmt.Errorf("%s: %s: %w", addr, method, err)
	}
	return nil
}

// take finds or opens the node's connection. As many calls as connections may be
// on their way, so whoever finds all taken closes one that nobody uses.
func (n *Nodes) take(addr string) (*link, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil, fmt.Errorf("%s: %w", addr, ErrClosed)
	}
	l := n.links[addr]
	if l == nil {
		t := n.tokens[addr]
		if t == nil {
			return nil, noToken(addr)
		}
		if len(n.links) >= n.limits.Open {
			n.evict()
		}
		l = &link{client: rpc.New(rpc.Config{
			Addresses: []string{addr}, Protocol: containerProtocol,
			Auth: func(context.Context) (rpc.Auth, error) { return rpc.Auth{Token: t}, nil },
		})}
		n.links[addr] = l
	}
	l.users++
	return l, nil
}

func (n *Nodes) give(addr string, l *link) {
	n.mu.Lock()
	defer n.mu.Unlock()
	l.users--
	l.since = time.Now()
	if l.stale {
		n.retire(addr, l)
	}
}

// retire closes a connection now, or when its last user is done. Whoever comes
// next opens a new one. The lock is held.
func (n *Nodes) retire(addr string, l *link) {
	l.stale = true
	if n.links[addr] == l {
		delete(n.links, addr)
	}
	if l.users == 0 {
		l.client.Close()
	}
}

// evict closes the connection that was unused longest. The lock is held.
func (n *Nodes) evict() {
	var oldest string
	for addr, l := range n.links {
		if l.users == 0 && (oldest == "" || l.since.Before(n.links[oldest].since)) {
			oldest = addr
		}
	}
	if oldest != "" {
		n.retire(oldest, n.links[oldest])
	}
}

// sweep closes idle connections until the pool is closed.
func (n *Nodes) sweep() {
	t := time.NewTicker(n.limits.Idle / 2)
	defer t.Stop()
	for {
		select {
		case <-n.done:
			return
		case now := <-t.C:
			n.mu.Lock()
			for addr, l := range n.links {
				if l.users == 0 && now.Sub(l.since) >= n.limits.Idle {
					n.retire(addr, l)
				}
			}
			n.mu.Unlock()
		}
	}
}
