package hdfs

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/muster-project/muster/hadoop/conf"
	"github.com/muster-project/muster/hadoop/rpc"
	"github.com/muster-project/muster/hadoop/sasl"
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
	least    sasl.Protection // of calls
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
	guard, err := newGuard(c)
	if err != nil {
		return nil, err
	}
	least, err := sasl.ParseProtection(c.String("hadoop.rpc.protection", ""))
	if err != nil {
		return nil, err
	}
	dial := (&net.Dialer{KeepAlive: 15 * time.Second}).DialContext
	namenode := rpc.Config{Addresses: place.addresses, Protocol: clientProtocol, Auth: auth, Least: least,
		Retry: rpc.Retry{For: takeover}}
	if len(place.addresses) > 1 {
		// Another one may have stepped in for one whose machine is silent. If not, it
		// says so, and the call is repeated under its number, by which it is done once.
		namenode.Timeout = silence
	}
	mapping := namenode
	mapping.Protocol = mappingProtocol
	client := &Client{
		conf: c, name: holder(), service: place.service, auth: auth, least: least,
		namenode: rpc.New(namenode), mapping: rpc.New(mapping),
		nodes: datanode{
			hostnames: c.Bool("dfs.client.use.datanode.hostname", false),
			patience:  c.Duration("dfs.client.socket-timeout", time.Minute, time.Millisecond),
			dial:      dial,
			secure:    guard.wrap,
		},
		renewal: renewal,
		open:    map[*Writer]bool{},
	}
	guard.ask = client.encryptionKey
	return client, nil
}

// call asks the NameNode. One that has just been started is waited for.
func (c *Client) call(ctx context.Context, method string, req, resp proto.Message) error {
	begun := time.Now()
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		err := c.namenode.Call(ctx, method, req, resp)
		if !starting(err) || time.Since(begun) > takeover {
			return away(err)
		}
		if serr := sleep(ctx, wait); serr != nil {
			return fmt.Errorf("%w: %w", serr, err)
		}
	}
}

// silence is how long one of several NameNodes may take to answer.
const silence = 20 * time.Second

// takeover is how long a NameNode may be away: a standby takes up to a minute and
// more to step in, and one that is started waits for its DataNodes.
const takeover = 2 * time.Minute

// starting tells that a NameNode refuses to change anything because it was
// started, and not because an administrator or a full disk froze it. One of
// several says so by Retriable, which rpc knows.
func starting(err error) bool {
	re, ok := errors.AsType[*rpc.RemoteError](err)
	return ok && rpc.Exception(re.Class) == SafeMode && strings.Contains(re.Message, "turned off automatically")
}

// ErrAway says that machines that are needed do not answer now. They may come back.
var ErrAway = errors.New("not there now")

// away marks what a NameNode that is not there, or not yet, makes of a call.
func away(err error) error {
	for _, is := range []error{rpc.ErrConnect, rpc.Standby, rpc.Retriable, SafeMode} {
		if errors.Is(err, is) {
			return fmt.Errorf("%w: %w", ErrAway, err)
		}
	}
	return err
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
