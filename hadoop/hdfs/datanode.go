package hdfs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"syscall"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/muster-project/muster/hadoop/pb/hdfspb"
)

// The data port of a DataNode.
const (
	transferVersion = 28
	opWrite         = 80
	opRead          = 81
)

// datanode is how DataNodes are reached.
type datanode struct {
	hostnames bool          // by name instead of address
	patience  time.Duration // how long one may be silent while we wait for it
	dial      func(ctx context.Context, network, address string) (net.Conn, error)
	// secure wraps a new connection where data transfer is protected; see guard. Nil
	// means that it is not.
	secure func(ctx context.Context, conn net.Conn, node *hdfspb.DatanodeID, lb *hdfspb.LocatedBlock) (net.Conn, error)
}

const (
	// connecting is how long a machine may take to accept a connection.
	connecting = 10 * time.Second
	// answering is how long a reader waits for a DataNode's first word, since
	// there are others that it can ask.
	answering = 10 * time.Second
)

func (d *datanode) host(n *hdfspb.DatanodeID) string {
	if d.hostnames {
		return n.GetHostName()
	}
	return n.GetIpAddr()
}

func (d *datanode) transferAddress(n *hdfspb.DatanodeID) string {
	return join(d.host(n), n.GetXferPort())
}

func (d *datanode) rpcAddress(n *hdfspb.DatanodeID) string { return join(d.host(n), n.GetIpcPort()) }

func join(host string, port uint32) string {
	return net.JoinHostPort(host, strconv.FormatUint(uint64(port), 10))
}

// transfer is one operation on a data port.
type transfer struct {
	net.Conn
	in *bufio.Reader
}

// refusal is a DataNode's answer that it will not do an operation.
type refusal struct {
	status hdfspb.Status
	text   string
	link   string // ip:port of the node of the pipeline that is at fault, if another
}

func (r *refusal) Error() string {
	s := "refused with " + r.status.String()
	if r.link != "" {
		s += ": no link to " + r.link
	}
	if r.text != "" {
		s += ": " + r.text
	}
	return s
}

// Is finds a refusal of the block token.
func (r *refusal) Is(target error) bool {
	return target == errStale && r.status == hdfspb.Status_ERROR_ACCESS_TOKEN
}

// start connects to a DataNode, asks for an operation and reads the answer. ctx
// and patience bound it; the connection has no deadline afterwards. Once, it is
// tried again where an encryption key was too old.
func (d *datanode) start(ctx context.Context, node *hdfspb.DatanodeID, lb *hdfspb.LocatedBlock, patience time.Duration, op byte, request proto.Message) (*transfer, *hdfspb.BlockOpResponse, error) {
	t, answer, err := d.try(ctx, node, lb, patience, op, request)
	if errors.Is(err, errKey) {
		t, answer, err = d.try(ctx, node, lb, patience, op, request)
	}
	return t, answer, err
}

func (d *datanode) try(ctx context.Context, node *hdfspb.DatanodeID, lb *hdfspb.LocatedBlock, patience time.Duration, op byte, request proto.Message) (*transfer, *hdfspb.BlockOpResponse, error) {
	address := d.transferAddress(node)
	dialing, stop := context.WithTimeout(ctx, connecting)
	conn, err := d.dial(dialing, "tcp", address)
	stop()
	if err != nil {
		return nil, nil, fmt.Errorf("datanode %s: %w", address, err)
	}
	t := &transfer{Conn: conn, in: bufio.NewReaderSize(conn, packetData+4096)}
	answer, err := t.ask(ctx, d, node, lb, patience, op, request)
	if err != nil {
		if ctx.Err() != nil { // the deadline that it set is not the cause
			err = ctx.Err()
		} else if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) {
			err = fmt.Errorf("%w: it hung up; it may want another protection than this configuration says (%s, hadoop.security.authentication, dfs.trustedchannel.resolver.class)",
				err, protectionKey)
		}
		_ = t.Close() // nothing of it is used
		return nil, nil, fmt.Errorf("datanode %s: %w", address, err)
	}
	return t, answer, nil
}

func (t *transfer) ask(ctx context.Context, d *datanode, node *hdfspb.DatanodeID, lb *hdfspb.LocatedBlock, patience time.Duration, op byte, request proto.Message) (*hdfspb.BlockOpResponse, error) {
	if err := t.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	defer t.bound(ctx)()
	if d.secure != nil {
		conn, err := d.secure(ctx, t.Conn, node, lb)
		if err != nil {
			return nil, err
		}
		t.Conn, t.in = conn, bufio.NewReaderSize(conn, packetData+4096)
	}
	b, err := appendMessage([]byte{0, transferVersion, op}, request)
	if err != nil {
		return nil, err
	}
	if _, err := t.Write(b); err != nil {
		return nil, err
	}
	answer := new(hdfspb.BlockOpResponse)
	if err := readMessage(t.in, answer); err != nil {
		return nil, err
	}
	if answer.GetStatus() != hdfspb.Status_SUCCESS {
		return nil, &refusal{status: answer.GetStatus(), text: answer.GetMessage(), link: answer.GetFirstBadLink()}
	}
	return answer, t.SetDeadline(time.Time{})
}

// bound makes every use of the connection fail once ctx is over; the function
// that it returns ends that.
func (t *transfer) bound(ctx context.Context) func() bool {
	conn := t.Conn
	return context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) }) // if it fails the connection is broken anyway
}

func header(lb *hdfspb.LocatedBlock, client string) *hdfspb.ClientOperationHeader {
	return &hdfspb.ClientOperationHeader{BaseHeader: &hdfspb.BaseHeader{Block: lb.GetB(), Token: lb.GetBlockToken()}, ClientName: &client}
}
