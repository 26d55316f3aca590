package rpc

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/muster-project/muster/hadoop/pb/ipcpb"
	"github.com/muster-project/muster/hadoop/sasl"
)

// Config is what a Client needs; Addresses, Protocol and Auth must be set.
type Config struct {
	// Addresses are host:port of servers that stand in for each other; the one
	// that answered last is asked first.
	Addresses []string
	// Protocol is the Java interface, such as
	// org.apache.hadoop.yarn.api.ApplicationClientProtocolPB.
	Protocol string
	// Auth is asked before each connection, so that a renewed token is used.
	Auth func(context.Context) (Auth, error)
	// Least is the weakest protection that is accepted where who calls is proven
	// by token or Kerberos; see sasl.ParseProtection. SIMPLE has no protection.
	Least sasl.Protection

	Retry   Retry
	Timeout time.Duration // for one try, from sending to its answer; 1 min when 0
	Connect time.Duration // for connecting and proving who calls; 20 s when 0
	Ping    time.Duration // between pings while an answer is waited for; 1 min when 0
	Idle    time.Duration // without calls until the connection is closed, at most twice that; 10 s when 0

	Dial func(ctx context.Context, network, address string) (net.Conn, error) // a net.Dialer's when nil
	Log  *slog.Logger                                                         // discards when nil
}

// Client calls one protocol as one user. It may be used from many goroutines.
type Client struct {
	cfg  Config
	id   []byte // the same over reconnects: servers know a repeated call by it
	life context.Context
	end  context.CancelCauseFunc

	mu      sync.Mutex
	next    int32 // call id
	at      int   // index of the address that is used
	live    *conn
	old     []*conn // retired or ended, not waited for yet
	opening *opening
}

// Errors of a client, beside those of the server and of the context.
var (
	// ErrClosed says that the client has been closed.
	ErrClosed = errors.New("rpc client closed")
	// ErrUnanswered says that a request was sent by Once and its answer is not
	// known: the server may have done it or not.
	ErrUnanswered = errors.New("no answer: it may have been done or not")
	// ErrConnect says that no server could be reached.
	ErrConnect = errors.New("no connection")
)

// New makes a client; nothing is connected yet.
func New(cfg Config) *Client {
	or := func(d *time.Duration, def time.Duration) {
		if *d <= 0 {
			*d = def
		}
	}
	or(&cfg.Timeout, time.Minute)
	or(&cfg.Connect, 20*time.Second)
	or(&cfg.Ping, time.Minute)
	or(&cfg.Idle, 10*time.Second)
	cfg.Retry = cfg.Retry.filled()
	if cfg.Dial == nil {
		cfg.Dial = (&net.Dialer{KeepAlive: 15 * time.Second}).DialContext
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	id := make([]byte, 16)
	_, _ = rand.Read(id) // never fails
	c := &Client{cfg: cfg, id: id}
	c.life, c.end = context.WithCancelCause(context.Background())
	return c
}

// Call runs one method and repeats it, under the same client and call id, until
// it is answered or ctx or the retry policy ends. It is for methods that may be
// repeated, or that the server keeps in a retry cache.
func (c *Client) Call(ctx context.Context, method string, req, resp proto.Message) error {
	return c.run(ctx, method, req, resp, true)
}

// Once is Call that repeats nothing that the server may have begun; then the
// error is ErrUnanswered. Connecting is repeated, and so is a request that the
// server refused because it is on standby or wants it later.
func (c *Client) Once(ctx context.Context, method string, req, resp proto.Message) error {
	return c.run(ctx, method, req, resp, false)
}

// Close ends the connection and waits until nothing of it is left; calls in
// progress fail.
func (c *Client) Close() error {
	c.end(ErrClosed)
	c.mu.Lock()
	all, o := c.old, c.opening
	if c.live != nil {
		all = append(all, c.live)
	}
	c.live, c.old = nil, nil
	c.mu.Unlock()
	for _, k := range all {
		k.close()
	}
	if o != nil {
		<-o.done
	}
	return nil
}

// Reset makes the next call open a new connection, with what Auth then says;
// calls in progress end on the old one.
func (c *Client) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.putAside()
}

// Address is the server that is asked next.
func (c *Client) Address() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.cfg.Addresses) == 0 {
		return ""
	}
	return c.cfg.Addresses[c.at]
}

// callID numbers calls from 0 on; negative ones mean something else.
func (c *Client) callID() int32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := c.next
	c.next = (c.next + 1) & 0x7fffffff
	return id
}

// run is the loop of tries.
func (c *Client) run(ctx context.Context, method string, req, resp proto.Message, repeat bool) error {
	id := c.callID()
	tries := c.cfg.Retry.begin(len(c.cfg.Addresses))
	for try := int32(0); ; try++ {
		address, sent, err := c.try(ctx, id, try, method, req, resp)
		if err == nil {
			return nil
		}
		what := judge(ctx, err)
		err = fmt.Errorf("%s at %s: %w", method, address, err)
		if !repeat && sent && open(err) {
			return fmt.Errorf("%w: %w", ErrUnanswered, err)
		}
		if what == giveUp {
			return err
		}
		if what != again {
			c.leaveAddress(address)
		}
		if err := tries.wait(ctx, what, err); err != nil {
			return err
		}
		c.cfg.Log.DebugContext(ctx, "call is repeated", "method", method, "address", address, "error", err)
	}
}

// try runs the method once.
func (c *Client) try(ctx context.Context, id, retry int32, method string, req, resp proto.Message) (address string, sent bool, err error) {
	version := uint64(1)
	request, err := frame(header(id, c.id, retry),
		&ipcpb.RequestHeader{MethodName: &method, ProtocolName: &c.cfg.Protocol, ProtocolVersion: &version}, req)
	if err != nil {
		return c.Address(), false, &requestError{err}
	}
	for {
		k, address, err := c.connection(ctx)
		if err != nil {
			return address, false, err
		}
		body, sent, err := c.ask(ctx, k, id, request)
		if !sent && errors.Is(err, errGone) {
			why := k.epitaph(ctx)
			if why == nil || errors.Is(why, errIdle) || errors.Is(why, errGone) {
				continue // it was at its end anyway; a fresh one is tried at once
			}
			err = why
		}
		if err == nil {
			_, err = pop(body, resp)
		}
		return address, sent, err
	}
}

// ask sends the request over one connection, which ends if no answer comes in
// time: what is silent once may be dead.
func (c *Client) ask(ctx context.Context, k *conn, id int32, request []byte) (body []byte, sent bool, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.cfg.Timeout, errSilent)
	defer cancel()
	body, sent, err = k.call(ctx, id, request)
	if errors.Is(err, errSilent) {
		k.fail(errSilent)
	}
	return body, sent, err
}
