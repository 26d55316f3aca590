package yarn

import (
	"context"
	"fmt"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/muster-project/muster/hadoop/pb/yarnpb"
	"github.com/muster-project/muster/hadoop/rpc"
	"github.com/muster-project/muster/hadoop/sasl"
	"github.com/muster-project/muster/hadoop/token"
)

const containerProtocol = "org.apache.hadoop.yarn.api.ContainerManagementProtocolPB"

// Limits bound a pool of NodeManager connections; zero means the default.
type Limits struct {
	Open    int           // connections at once, and calls on their way (64): one call beyond waits
	Idle    time.Duration // how long an unused connection stays open (10 s)
	Timeout time.Duration // how long one call may take over all its tries (1 min)
	// Least is the weakest protection that is accepted, which Protection reads.
	Least sasl.Protection
}

// Nodes calls NodeManagers, each with the token that the ResourceManager gave
// for it. Methods may be called by many at once.
type Nodes struct {
	limits Limits
	config func(addr string, t *token.Token) rpc.Config
	slots  chan struct{} // one for each call on its way

	mu     sync.Mutex
	closed bool
	tokens map[string]*token.Token
	links  map[string]*link
}

// link is a client for one node; it closes its connection by itself when idle.
type link struct {
	client *rpc.Client
	users  int
	stale  bool      // its token has been replaced: nobody new may use it
	since  time.Time // of the last use
}

// NewNodes makes an empty pool. Close ends it.
func NewNodes(l Limits) *Nodes {
	if l.Open <= 0 {
		l.Open = 64
	}
	if l.Timeout <= 0 {
		l.Timeout = time.Minute
	}
	n := &Nodes{limits: l, slots: make(chan struct{}, l.Open), tokens: map[string]*token.Token{}, links: map[string]*link{}}
	n.config = n.withToken
	return n
}

func (n *Nodes) withToken(addr string, t *token.Token) rpc.Config {
	return rpc.Config{
		Addresses: []string{addr}, Protocol: containerProtocol, Idle: n.limits.Idle, Least: n.limits.Least,
		Auth:    func(context.Context) (rpc.Auth, error) { return rpc.Auth{Token: t}, nil },
		Retry:   rpc.Retry{For: -1}, // the call's own timeout ends it
		Timeout: n.limits.Timeout / 2,
	}
}

// Keep takes the tokens of a register or allocate answer: the ResourceManager
// sends each once. A newer one replaces the older, and so does its connection;
// calls on their way end on the old one.
func (n *Nodes) Keep(tokens []*yarnpb.NMToken) {
	var unused []*link
	n.mu.Lock()
	for _, t := range tokens {
		addr := NodeAddr(t.GetNodeId())
		n.tokens[addr] = token.FromProto(t.GetToken())
		if l := n.links[addr]; l != nil {
			unused = n.retire(addr, l, unused)
		}
	}
	n.mu.Unlock()
	shut(unused)
}

// Has tells that there is a token for the node.
func (n *Nodes) Has(addr string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.tokens[addr] != nil
}

// Close ends all connections; calls on their way fail.
func (n *Nodes) Close() error {
	n.mu.Lock()
	n.closed = true
	var all []*link
	for addr, l := range n.links {
		delete(n.links, addr)
		all = append(all, l)
	}
	n.mu.Unlock()
	shut(all)
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
	return l.client.Call(ctx, method, req, resp)
}

// take finds or opens the node's client. No more calls than connections are on
// their way, so when all are taken one of them has no user, and goes.
func (n *Nodes) take(addr string) (*link, error) {
	var unused []*link
	defer func() { shut(unused) }()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil, fmt.Errorf("%s: %w", addr, rpc.ErrClosed)
	}
	l := n.links[addr]
	if l == nil {
		t := n.tokens[addr]
		if t == nil {
			return nil, fmt.Errorf("%s: %w", addr, ErrNoToken)
		}
		if len(n.links) >= n.limits.Open {
			unused = n.evict(unused)
		}
		l = &link{client: rpc.New(n.config(addr, t))}
		n.links[addr] = l
	}
	l.users++
	return l, nil
}

func (n *Nodes) give(addr string, l *link) {
	var unused []*link
	n.mu.Lock()
	l.users--
	l.since = time.Now()
	if l.stale {
		unused = n.retire(addr, l, unused)
	}
	n.mu.Unlock()
	shut(unused)
}

// retire lets nobody new use a link and adds it to unused once its last user is
// done. The lock is held; what is unused is closed without it, since closing waits.
func (n *Nodes) retire(addr string, l *link, unused []*link) []*link {
	l.stale = true
	if n.links[addr] == l {
		delete(n.links, addr)
	}
	if l.users == 0 {
		unused = append(unused, l)
	}
	return unused
}

// evict retires the link that was unused longest. The lock is held.
func (n *Nodes) evict(unused []*link) []*link {
	var oldest string
	for addr, l := range n.links {
		if l.users == 0 && (oldest == "" || l.since.Before(n.links[oldest].since)) {
			oldest = addr
		}
	}
	if oldest == "" {
		return unused
	}
	return n.retire(oldest, n.links[oldest], unused)
}

func shut(links []*link) {
	for _, l := range links {
		l.client.Close()
	}
}
