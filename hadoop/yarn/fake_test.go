package yarn

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"syscall"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/muster-project/muster/hadoop/pb/ipcpb"
	"github.com/muster-project/muster/hadoop/pb/yarnpb"
	"github.com/muster-project/muster/hadoop/rpc"
)

// fake is a Hadoop RPC server in memory: it takes SIMPLE callers and answers by
// its handle function. What a real server decides is tested on a real one; this
// one loses answers and dies in the right moment.
type fake struct {
	handle func(request) answer

	mu    sync.Mutex
	down  bool
	dials int
	near  int // connections that the client has not closed
	conns map[net.Conn]bool
	done  sync.WaitGroup
}

// request is one call: body is the method's own message.
type request struct {
	user, method string
	body         []byte
}

func (c request) read(m proto.Message) {
	if err := proto.Unmarshal(c.body, m); err != nil {
		panic(err)
	}
}

// answer is a message, or an exception, or nothing and the connection's end, or
// silence.
type answer struct {
	message          proto.Message
	exception        rpc.Exception
	text             string
	hangUp, ignoreIt bool
}

func (f *fake) dial(context.Context, string, string) (net.Conn, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dials++
	if f.down {
		return nil, syscall.ECONNREFUSED
	}
	near, far := net.Pipe()
	if f.conns == nil {
		f.conns = map[net.Conn]bool{}
	}
	f.conns[far] = true
	f.near++
	f.done.Go(func() {
		f.serve(far)
		far.Close()
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.conns, far)
	})
	return &counted{Conn: near, f: f}, nil
}

// counted tells the fake when the client closes.
type counted struct {
	net.Conn
	f    *fake
	once sync.Once
}

func (c *counted) Close() error {
	c.once.Do(func() {
		c.f.mu.Lock()
		defer c.f.mu.Unlock()
		c.f.near--
	})
	return c.Conn.Close()
}

func (f *fake) set(down bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = down
	if down {
		for c := range f.conns {
			c.Close()
		}
	}
}

func (f *fake) open() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.near
}

// stop ends all connections and waits for their goroutines.
func (f *fake) stop() {
	f.set(true)
	f.done.Wait()
}

func (f *fake) serve(c net.Conn) {
	var preamble [7]byte
	if _, err := io.ReadFull(c, preamble[:]); err != nil || preamble[6] != 0 {
		return
	}
	user := ""
	for {
		h, rest, err := readCall(c)
		if err != nil {
			return
		}
		switch {
		case h.GetCallId() == -3:
			var x ipcpb.IpcConnectionContext
			pop(rest, &x)
			user = x.GetUserInfo().GetEffectiveUser()
			continue
		case h.GetCallId() < 0:
			continue
		}
		var m ipcpb.RequestHeader
		rest = pop(rest, &m)
		body, _ := protowire.ConsumeBytes(rest)
		a := f.handle(request{user: user, method: m.GetMethodName(), body: body})
		if a.ignoreIt {
			continue
		}
		if a.hangUp || a.write(c, h) != nil {
			return
		}
	}
}

func (a answer) write(c net.Conn, h *ipcpb.RpcRequestHeader) error {
	r := &ipcpb.RpcResponseHeader{
		CallId: proto.Uint32(uint32(h.GetCallId())), Status: ipcpb.RpcResponseHeader_SUCCESS.Enum(), ClientId: h.GetClientId(),
	}
	all := []proto.Message{r, a.message}
	if a.exception != "" {
		r.Status = ipcpb.RpcResponseHeader_ERROR.Enum()
		r.ExceptionClass = proto.String(string(a.exception))
		r.ErrorMsg = proto.String(string(a.exception) + ": " + a.text + "\n\tat some.Class.method(Class.java:1)")
		r.ErrorDetail = proto.Int32(1)
		all = all[:1]
	}
	b := make([]byte, 4)
	for _, m := range all {
		one, err := proto.Marshal(m)
		if err != nil {
			panic(err)
		}
		b = protowire.AppendBytes(b, one)
	}
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	_, err := c.Write(b)
	return err
}

func readCall(r io.Reader) (*ipcpb.RpcRequestHeader, []byte, error) {
	var n [4]byte
	if _, err := io.ReadFull(r, n[:]); err != nil {
		return nil, nil, err
	}
	b := make([]byte, binary.BigEndian.Uint32(n[:]))
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, nil, err
	}
	var h ipcpb.RpcRequestHeader
	return &h, pop(b, &h), nil
}

func pop(b []byte, m proto.Message) []byte {
	v, n := protowire.ConsumeBytes(b)
	if n < 0 {
		panic(protowire.ParseError(n))
	}
	if err := proto.Unmarshal(v, m); err != nil {
		panic(err)
	}
	return b[n:]
}

// master makes a Master that talks to the fake as a user.
func (f *fake) master(t testing.TB) *Master {
	t.Helper()
	return newMaster(rpc.Config{Addresses: []string{"rm.example:8030"}, Dial: f.dial}, as("appattempt"))
}

func as(user string) Auth {
	return func(context.Context) (rpc.Auth, error) { return rpc.Auth{User: user}, nil }
}

func containerNumber(n int64) *yarnpb.Container {
	return &yarnpb.Container{Id: ContainerID{Attempt: AttemptID{App: AppID{Cluster: 1, Number: 1}, Number: 1}, Number: n}.Proto()}
}
