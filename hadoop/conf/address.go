package conf

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// Server is one daemon that a client may call.
type Server struct {
	ID      string // rm1, nn2: its name among those that stand in for each other; empty where it is alone
	Address string // host:port
	Key     string // the key that the address was read from
}

// Addresses lists the addresses of servers, as rpc.Config takes them.
func Addresses(servers []Server) []string {
	out := make([]string, len(servers))
	for i, s := range servers {
		out[i] = s.Address
	}
	return out
}

// ErrAddress is the identity of an address that cannot be read.
var ErrAddress = errors.New("not a host with a port")

// hostPort reads host, host:port, [v6], [v6]:port; a missing port is replaced.
func hostPort(value string, port int) (string, error) {
	value = strings.TrimSpace(value)
	if value == "" || strings.ContainsAny(value, "/ ${},") {
		return "", fmt.Errorf("%q: %w", value, ErrAddress)
	}
	if ip := net.ParseIP(strings.Trim(value, "[]")); ip != nil || !strings.Contains(value, ":") {
		return net.JoinHostPort(strings.Trim(value, "[]"), strconv.Itoa(port)), nil
	}
	host, given, err := net.SplitHostPort(value)
	if err != nil || host == "" {
		return "", fmt.Errorf("%q: %w", value, ErrAddress)
	}
	if n, err := strconv.Atoi(given); err != nil || n < 1 || n > 65535 {
		return "", fmt.Errorf("%q: %w", value, ErrAddress)
	}
	return net.JoinHostPort(host, given), nil
}

// server reads the address under a key; found is false when that is not set.
func (c *Conf) server(id, key string, port int) (s Server, found bool, err error) {
	v := c.String(key, "")
	if v == "" {
		return Server{}, false, nil
	}
	address, err := hostPort(v, port)
	if err != nil {
		return Server{}, true, fmt.Errorf("%s: %w (%s)", key, err, c.Origin(key))
	}
	return Server{ID: id, Address: address, Key: key}, true, nil
}

// Principal fills `_HOST` in a service principal such as rm/_HOST@REALM: with
// the host in lower case, without its port.
func Principal(pattern, host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	service, rest, ok := strings.Cut(pattern, "/")
	if !ok {
		return pattern
	}
	instance, realm, _ := strings.Cut(rest, "@")
	if instance != "_HOST" {
		return pattern
	}
	out := service + "/" + strings.ToLower(host)
	if realm != "" {
		out += "@" + realm
	}
	return out
}
