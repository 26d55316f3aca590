package rpc

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/muster-project/muster/hadoop/pb/ipcpb"
	"github.com/muster-project/muster/hadoop/sasl"
	"github.com/muster-project/muster/hadoop/token"
)

// call is one request that a fake server got.
type call struct {
	Address string // of the server
	Conn    int    // which connection to it, from 1
	Method  string
	Text    string // what the test's request says
	Client  string
	ID      int32
	Retry   int32
}

// errHangUp as an answer makes the server close the connection; errSilence makes
// it answer nothing.
var (
	errHangUp  = errors.New("hang up")
	errSilence = errors.New("silence")
)

// server is the other end, as a Hadoop daemon speaks: what it takes as proof and
// how it answers are fields.
type server struct {
	simple bool         // takes SIMPLE without SASL
	auths  []string     // "METHOD MECHANISM" offered over SASL; none: SUCCESS at once
	token  *token.Token // the one token it knows
	qop    string       // the protection it offers for it
	cipher string       // and the ciphers
	liar   bool         // proves nothing itself
	bare   bool         // answers outside the protection
	answer func(call) (string, error)
	greet  func(io.Writer) // writes something after the handshake, when not nil

	address  string
	mu       sync.Mutex
	conns    int
	contexts []*ipcpb.IpcConnectionContext
	calls    []call
	pings    int
}

// network connects a client's Dial with servers; an address without one refuses.
type network struct {
	mu      sync.Mutex
	servers map[string]*server
	group   sync.WaitGroup
}

// newNetwork makes one whose goroutines have ended when the test does.
func newNetwork(t testing.TB) *network {
	n := &network{servers: map[string]*server{}}
	t.Cleanup(n.group.Wait)
	return n
}

// set puts a server at an address, or takes it away with nil.
func (n *network) set(address string, s *server) *server {
	n.mu.Lock()
	defer n.mu.Unlock()
	if s == nil {
		delete(n.servers, address)
		return nil
	}
	s.address = address
	n.servers[address] = s
	return s
}

func (n *network) dial(ctx context.Context, _, address string) (net.Conn, error) {
	n.mu.Lock()
	s := n.servers[address]
	n.mu.Unlock()
	if s == nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	ours, theirs := net.Pipe()
	n.group.Go(func() {
		defer theirs.Close()
		s.serve(theirs)
	})
	return ours, nil
}

// serve is one connection's life.
func (s *server) serve(nc net.Conn) {
	s.mu.Lock()
	s.conns++
	c := &served{s: s, nc: nc, in: bufio.NewReader(nc), number: s.conns}
	s.mu.Unlock()
	defer c.group.Wait()
	defer nc.Close() // ends writers that nobody reads from
	if err := c.hello(); err != nil {
		return
	}
	if s.greet != nil {
		s.greet(nc)
	}
	for c.next() == nil {
	}
}

// served is one connection of a server.
type served struct {
	s      *server
	nc     net.Conn
	in     *bufio.Reader
	number int
	layer  sasl.Layer
	plain  bytes.Buffer
	group  sync.WaitGroup
	mu     sync.Mutex // writing
}

// refuse answers with a fatal exception, as servers do before they close.
func (c *served) refuse(class Exception, text string) error {
	_ = c.reply(-1, nil, &RemoteError{Class: string(class), Message: text, Detail: 15, Fatal: true})
	return errHangUp
}

func (c *served) hello() error {
	var b [7]byte
	if _, err := io.ReadFull(c.in, b[:]); err != nil {
		return err
	}
	if !bytes.Equal(b[:6], []byte("hrpc\x09\x00")) {
		return fmt.Errorf("preamble %x", b)
	}
	if b[6] == authNone {
		if !c.s.simple {
			return c.refuse(AccessControl, "SIMPLE authentication is not enabled.  Available:[TOKEN]")
		}
		return nil
	}
	return c.sasl()
}

func (c *served) receiveSasl() (*ipcpb.RpcSasl, error) {
	var h ipcpb.RpcRequestHeader
	var m ipcpb.RpcSasl
	b, err := readFrame(c.in)
	if err == nil {
		b, err = pop(b, &h)
	}
	if err == nil && (h.GetCallId() != callSasl || len(h.GetClientId()) != 0 || h.GetRetryCount() != -1) {
		err = fmt.Errorf("header %v", &h)
	}
	if err == nil {
		_, err = pop(b, &m)
	}
	return &m, err
}

func (c *served) sendSasl(m *ipcpb.RpcSasl) error {
	b, err := responseFrame(callSasl, m, nil)
	if err == nil {
		_, err = c.nc.Write(b)
	}
	return err
}

// sasl is the server's half of the negotiation.
func (c *served) sasl() error {
	if m, err := c.receiveSasl(); err != nil || m.GetState() != ipcpb.RpcSasl_NEGOTIATE {
		return fmt.Errorf("no negotiation: %v %w", m, err)
	}
	if len(c.s.auths) == 0 {
		return c.sendSasl(&ipcpb.RpcSasl{State: ipcpb.RpcSasl_SUCCESS.Enum()})
	}
	offer := &ipcpb.RpcSasl{State: ipcpb.RpcSasl_NEGOTIATE.Enum()}
	for _, a := range c.s.auths {
		method, mechanism, _ := strings.Cut(a, " ")
		o := &ipcpb.RpcSasl_Auth{Method: &method, Mechanism: &mechanism, Protocol: proto.String(""), ServerId: proto.String("default")}
		if mechanism == sasl.DigestMD5 {
			o.Challenge = c.s.offer().Challenge()
		}
		offer.Auths = append(offer.Auths, o)
	}
	if err := c.sendSasl(offer); err != nil {
		return err
	}
	m, err := c.receiveSasl()
	if err != nil || m.GetState() != ipcpb.RpcSasl_INITIATE || len(m.GetAuths()) != 1 || m.GetAuths()[0].Challenge != nil {
		return fmt.Errorf("no initiation: %v %w", m, err)
	}
	if m.GetAuths()[0].GetMethod() != methodToken {
		return nil
	}
	return c.digest(m.GetToken())
}

// digest checks the client's response and proves the server.
func (c *served) digest(response []byte) error {
	t := c.s.token
	user, password := base64.StdEncoding.EncodeToString(t.Identifier), base64.StdEncoding.EncodeToString(t.Password)
	claimed, err := c.s.offer().Claimed(response)
	if err != nil {
		return err
	}
	last, layer, err := c.s.offer().Check(response, password)
	if claimed != user || errors.Is(err, sasl.ErrDigest) {
		return c.refuse(InvalidToken, "token (for bob) can't be found in cache")
	}
	if err != nil {
		return err
	}
	c.layer = layer
	if c.s.liar {
		last = []byte("rspauth=" + strings.Repeat("0", 32))
	}
	return c.sendSasl(&ipcpb.RpcSasl{State: ipcpb.RpcSasl_SUCCESS.Enum(), Token: last})
}

// offer is what it wants of a token.
func (s *server) offer() sasl.Offer {
	return sasl.Offer{Realm: "default", Nonce: "bm9uY2U=", QOP: s.qop, Cipher: s.cipher, URI: "/default"}
}

// read gives the next frame, unwrapped; a client that does not wrap is refused.
func (c *served) read() ([]byte, error) {
	if c.layer == nil {
		return readFrame(c.in)
	}
	for {
		if b := c.plain.Bytes(); len(b) >= 4 {
			if n := int(b[0])<<24 | int(b[1])<<16 | int(b[2])<<8 | int(b[3]); len(b) >= 4+n {
				return readFrame(&c.plain)
			}
		}
		m, err := c.receiveSasl()
		if err != nil {
			return nil, err
		}
		if m.GetState() != ipcpb.RpcSasl_WRAP || len(m.GetToken()) > 1<<20 {
			return nil, fmt.Errorf("%v, %d bytes", m.GetState(), len(m.GetToken()))
		}
		b, err := c.layer.Unwrap(m.GetToken())
		if err != nil {
			return nil, err
		}
		c.plain.Write(b)
	}
}

// next takes one message.
func (c *served) next() error {
	b, err := c.read()
	if err != nil {
		return err
	}
	var h ipcpb.RpcRequestHeader
	if b, err = pop(b, &h); err != nil {
		return err
	}
	switch h.GetCallId() {
	case callContext:
		var x ipcpb.IpcConnectionContext
		if _, err := pop(b, &x); err != nil {
			return err
		}
		c.s.mu.Lock()
		c.s.contexts = append(c.s.contexts, &x)
		c.s.mu.Unlock()
		return nil
	case callPing:
		c.s.mu.Lock()
		c.s.pings++
		c.s.mu.Unlock()
		return nil
	}
	var r ipcpb.RequestHeader
	var q ipcpb.GetDelegationTokenRequest
	if b, err = pop(b, &r); err != nil {
		return err
	}
	if _, err = pop(b, &q); err != nil {
		return err
	}
	k := call{Address: c.s.address, Conn: c.number, Method: r.GetMethodName(), Text: q.GetRenewer(), Client: string(h.GetClientId()), ID: h.GetCallId(), Retry: h.GetRetryCount()}
	c.s.mu.Lock()
	c.s.calls = append(c.s.calls, k)
	c.s.mu.Unlock()
	c.group.Go(func() { c.answerTo(k) })
	return nil
}

func (c *served) answerTo(k call) {
	text, err := "echo "+k.Text, error(nil)
	if c.s.answer != nil {
		text, err = c.s.answer(k)
	}
	switch {
	case errors.Is(err, errHangUp):
		c.nc.Close()
	case errors.Is(err, errSilence):
	default:
		_ = c.reply(k.ID, response(text), err)
	}
}

// response carries a text as the answers of these tests do.
func response(text string) proto.Message {
	return &ipcpb.GetDelegationTokenResponse{Token: (&token.Token{Kind: text}).Proto()}
}

// reply sends an answer, wrapped where that was agreed.
func (c *served) reply(id int32, m proto.Message, err error) error {
	b, ferr := responseFrame(id, m, err)
	if ferr != nil {
		return ferr
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.layer != nil && !c.s.bare {
		if b, ferr = c.layer.Wrap(b); ferr != nil {
			return ferr
		}
		if b, ferr = responseFrame(callSasl, &ipcpb.RpcSasl{State: ipcpb.RpcSasl_WRAP.Enum(), Token: b}, nil); ferr != nil {
			return ferr
		}
	}
	_, ferr = c.nc.Write(b)
	return ferr
}

// responseFrame puts an answer or an exception into a frame.
func responseFrame(id int32, m proto.Message, err error) ([]byte, error) {
	h := &ipcpb.RpcResponseHeader{CallId: proto.Uint32(uint32(id)), Status: ipcpb.RpcResponseHeader_SUCCESS.Enum()}
	if err == nil {
		return frame(h, m)
	}
	h.Status = ipcpb.RpcResponseHeader_ERROR.Enum()
	class, text := "java.io.IOException", err.Error()
	if r, ok := errors.AsType[*RemoteError](err); ok {
		class, text, h.ErrorDetail = r.Class, r.Message, &r.Detail
		if r.Fatal {
			h.Status = ipcpb.RpcResponseHeader_FATAL.Enum()
		}
	} else if x := Exception(""); errors.As(err, &x) {
		class, text = string(x), "on purpose"
	}
	h.ExceptionClass = &class
	h.ErrorMsg = proto.String(class + ": " + text + "\n\tat org.example.Main.run(Main.java:7)\n")
	return frame(h)
}

// seen returns what the server got so far.
func (s *server) seen() []call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]call(nil), s.calls...)
}

func (s *server) counts() (conns, pings int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conns, s.pings
}

// ask calls a method with a text and returns the answer's.
func ask(ctx context.Context, do func(context.Context, string, proto.Message, proto.Message) error, text string) (string, error) {
	var out ipcpb.GetDelegationTokenResponse
	err := do(ctx, "say", &ipcpb.GetDelegationTokenRequest{Renewer: &text}, &out)
	return out.GetToken().GetKind(), err
}

// client makes one for the network, closed with the test.
func client(t testing.TB, n *network, cfg Config) *Client {
	t.Helper()
	cfg.Dial, cfg.Protocol = n.dial, "org.example.Protocol"
	if cfg.Auth == nil {
		cfg.Auth = as(Auth{User: "alice"})
	}
	c := New(cfg)
	t.Cleanup(func() { c.Close() })
	return c
}

func as(a Auth) func(context.Context) (Auth, error) {
	return func(context.Context) (Auth, error) { return a, nil }
}
