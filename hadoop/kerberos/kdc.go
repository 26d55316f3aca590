package kerberos

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jcmturner/gokrb5/v8/iana/errorcode"
	"github.com/jcmturner/gokrb5/v8/messages"
)

const (
	kdcPort   = "88"
	maxAnswer = 1 << 20
	patience  = 5 * time.Second // for one KDC
)

// kdc is one address of a realm's service.
type kdc struct{ network, address string }

// servers lists the KDCs of a realm, as krb5.conf or DNS name them. Each is
// tried over TCP, which takes answers of any size, then over UDP.
func (c *config) servers(ctx context.Context, realm string) ([]kdc, error) {
	named := c.kdcs[realm]
	if len(named) == 0 && c.lookup {
		_, records, err := net.DefaultResolver.LookupSRV(ctx, "kerberos", "tcp", realm)
		if err != nil {
			return nil, fmt.Errorf("krb5.conf names none, and DNS has no _kerberos._tcp.%s: %w", realm, err)
		}
		for _, r := range records {
			named = append(named, net.JoinHostPort(strings.TrimSuffix(r.Target, "."), strconv.Itoa(int(r.Port))))
		}
	}
	var tcp, udp []kdc
	for _, s := range named {
		only, rest, ok := strings.Cut(s, "/")
		if !ok {
			only, rest = "", s
		}
		if only != "" && only != "tcp" && only != "udp" {
			return nil, fmt.Errorf("kdc = %s: only tcp and udp are known", s)
		}
		address := hostPort(rest)
		if only != "udp" {
			tcp = append(tcp, kdc{"tcp", address})
		}
		if only != "tcp" {
			udp = append(udp, kdc{"udp", address})
		}
	}
	if len(tcp)+len(udp) == 0 {
		return nil, fmt.Errorf("krb5.conf names none for the realm %s", realm)
	}
	return append(tcp, udp...), nil
}

func hostPort(s string) string {
	if host, port, err := net.SplitHostPort(s); err == nil && port != "" {
		return net.JoinHostPort(host, port)
	}
	return net.JoinHostPort(strings.Trim(s, "[]"), kdcPort)
}

// ask sends a message to the first KDC of the realm that answers. A refusal is a
// messages.KRBError.
func (c *config) ask(ctx context.Context, realm string, message []byte) ([]byte, error) {
	away := func(cause error) error {
		return &Problem{Thing: realm, Kind: ErrKDC, Cause: cause,
			Hint: "kdc in [realms] of krb5.conf (" + c.path + ") names the addresses; check the network and that the KDC runs"}
	}
	servers, err := c.servers(ctx, realm)
	if err != nil {
		return nil, away(err)
	}
	var all []error
	for _, s := range servers {
		b, err := s.ask(ctx, message)
		if err == nil {
			e, refused := refusalIn(b)
			if !refused {
				return b, nil
			}
			if e.ErrorCode != errorcode.KRB_ERR_RESPONSE_TOO_BIG && e.ErrorCode != errorcode.KDC_ERR_SVC_UNAVAILABLE {
				return nil, e
			}
			err = e
		}
		all = append(all, fmt.Errorf("%s over %s: %w", s.address, s.network, err))
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%w: %w", context.Cause(ctx), away(errors.Join(all...)))
		}
	}
	return nil, away(errors.Join(all...))
}

// refusalIn tells whether an answer is a no.
func refusalIn(answer []byte) (messages.KRBError, bool) {
	var e messages.KRBError
	err := e.Unmarshal(answer)
	return e, err == nil
}

func (k kdc) ask(ctx context.Context, message []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	nc, err := (&net.Dialer{}).DialContext(ctx, k.network, k.address)
	if err != nil {
		return nil, short(err)
	}
	defer nc.Close()
	defer context.AfterFunc(ctx, func() { _ = nc.SetDeadline(time.Unix(1, 0)) })()
	if k.network == "udp" {
		return k.packet(nc, message)
	}
	if _, err := nc.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(message))), message...)); err != nil {
		return nil, short(err)
	}
	var size [4]byte
	if _, err := io.ReadFull(nc, size[:]); err != nil {
		return nil, short(err)
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > maxAnswer {
		return nil, fmt.Errorf("an answer of %d bytes", n)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(nc, b); err != nil {
		return nil, short(err)
	}
	return b, nil
}

func (k kdc) packet(nc net.Conn, message []byte) ([]byte, error) {
	if _, err := nc.Write(message); err != nil {
		return nil, short(err)
	}
	b := make([]byte, 64<<10)
	n, err := nc.Read(b)
	if err != nil {
		return nil, short(err)
	}
	return b[:n], nil
}

// short drops the addresses that an error of net repeats.
func short(err error) error {
	if o, ok := errors.AsType[*net.OpError](err); ok && !o.Timeout() {
		return o.Err
	}
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		return errors.New("no answer in time")
	}
	return err
}
