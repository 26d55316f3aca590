package hdfs

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/muster-project/muster/hadoop/conf"
	"github.com/muster-project/muster/hadoop/pb/hdfspb"
	"github.com/muster-project/muster/hadoop/sasl"
)

const (
	protectionKey = "dfs.data.transfer.protection"
	suitesKey     = "dfs.encrypt.data.transfer.cipher.suites"
)

// guard decides how a connection to a data port is protected, by the rules of
// Hadoop's own clients, so that both ends come to the same without asking:
//
//	no block token                                                       │ plain: DataNodes check nothing
//	the NameNode's defaults say that data transfer is encrypted          │ a key of the NameNode proves, always at privacy
//	no Kerberos, a port below 1024, or no dfs.data.transfer.protection   │ plain, with the token in the operation
//	else                                                                 │ the block token proves, at a level of the list
type guard struct {
	secure      bool // who calls is proven on this cluster
	protected   bool // dfs.data.transfer.protection is there
	least, most sasl.Protection
	aes         bool // AES in counter mode is offered where the level is privacy
	ask         func(context.Context) (*hdfspb.DataEncryptionKey, error)

	mu    sync.Mutex
	asked bool // whether data transfer is encrypted; ask is nil then if not
	key   *hdfspb.DataEncryptionKey
}

func newGuard(c *conf.Conf) (*guard, error) {
	value := c.String(protectionKey, "")
	g := &guard{secure: c.String("hadoop.security.authentication", "simple") != "simple", protected: value != ""}
	var err error
	if g.least, g.most, err = sasl.ParseProtections(protectionKey, value); err != nil {
		return nil, fmt.Errorf("%w (%s)", err, c.Origin(protectionKey))
	}
	for _, suite := range c.Strings(suitesKey) {
		g.aes = g.aes || suite == aesSuite // others are not known here; without one the mechanism's own cipher is used
	}
	return g, nil
}

// privileged ports can only be opened by root: that a DataNode has one proves it.
const privileged = 1024

// wrap does the handshake on a new connection if there is one to do.
func (g *guard) wrap(ctx context.Context, conn net.Conn, node *hdfspb.DatanodeID, lb *hdfspb.LocatedBlock) (net.Conn, error) {
	t := lb.GetBlockToken()
	proven := g.secure && g.protected && node.GetXferPort() >= privileged
	if len(t.GetIdentifier()) == 0 {
		if proven {
			return nil, fmt.Errorf("%w: %s is set, but the NameNode gives no block tokens: dfs.block.access.token.enable",
				sasl.ErrProtection, protectionKey)
		}
		return conn, nil
	}
	key, err := g.encryption(ctx)
	switch {
	case err != nil:
		return nil, err
	case key != nil:
		out, err := shake(conn, keyDigest(key), g.aes)
		if errors.Is(err, errStale) {
			g.forget(key)
			err = fmt.Errorf("%w: %w", errKey, err)
		}
		return out, err
	case !proven:
		return conn, nil
	}
	d := sasl.Digest{User: base64.StdEncoding.EncodeToString(t.GetIdentifier()), Password: base64.StdEncoding.EncodeToString(t.GetPassword()),
		URI: digestURI, Least: g.least, Most: &g.most}
	return shake(conn, d, g.aes && g.most == sasl.Privacy)
}

// errKey says that a DataNode does not know the key that data transfer is
// encrypted with; the next connection has another.
var errKey = errors.New("encryption key")

// digestURI is what Hadoop calls every data port.
const digestURI = "hdfs/0"

// keyDigest is how a data encryption key is proven. Its cipher is the NameNode's wish.
func keyDigest(k *hdfspb.DataEncryptionKey) sasl.Digest {
	d := sasl.Digest{
		User: strconv.FormatUint(uint64(k.GetKeyId()), 10) + " " + k.GetBlockPoolId() + " " +
			base64.StdEncoding.EncodeToString(k.GetNonce()),
		Password: base64.StdEncoding.EncodeToString(k.GetEncryptionKey()),
		URI:      digestURI, Least: sasl.Privacy,
	}
	if a := k.GetEncryptionAlgorithm(); a != "" {
		d.Ciphers = []string{a}
	}
	return d
}

// encryption gives the key that data transfer is encrypted with, nil where it is
// not. Keys live for hours; a DataNode that does not know one says so.
func (g *guard) encryption(ctx context.Context) (*hdfspb.DataEncryptionKey, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.asked && (g.key == nil || time.Now().UnixMilli() < int64(g.key.GetExpiryDate())) {
		return g.key, nil
	}
	if g.ask == nil {
		return nil, nil
	}
	key, err := g.ask(ctx)
	if err != nil {
		return nil, err
	}
	g.key, g.asked = key, true
	return key, nil
}

// forget drops a key that a DataNode does not know.
func (g *guard) forget(key *hdfspb.DataEncryptionKey) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.key == key {
		g.asked = false
	}
}

// encryptionKey asks the NameNode for a key; nil where it wants no encryption.
func (c *Client) encryptionKey(ctx context.Context) (*hdfspb.DataEncryptionKey, error) {
	d, err := c.Defaults(ctx)
	if err != nil || !d.GetEncryptDataTransfer() {
		return nil, err
	}
	var r hdfspb.GetDataEncryptionKeyResponse
	if err := c.call(ctx, "getDataEncryptionKey", &hdfspb.VoidResponse{}, &r); err != nil {
		return nil, fmt.Errorf("namenode: no key for encrypted data transfer: %w", err)
	}
	if r.DataEncryptionKey == nil {
		return nil, errors.New("namenode: it wants data transfer encrypted and gives no key: dfs.block.access.token.enable must be true there")
	}
	return r.DataEncryptionKey, nil
}
