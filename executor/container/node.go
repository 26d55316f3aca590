package container

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"time"
)

// Bounds of an answer of the NodeManager.
const (
	nodeTime = 5 * time.Second
	nodeMost = 1 << 20
)

// nodeManager asks the web service of the NodeManager that started this
// container. One request of HTTP/1.0 is written by hand: package net/http would
// be a third of the executor.
func nodeManager(node map[string]string, user string) func(ctx context.Context, path string) ([]byte, error) {
	address := node["NM_HTTP_PORT"]
	if host := node["NM_HOST"]; host != "" && address != "" && !strings.Contains(address, ":") {
		address = net.JoinHostPort(host, address)
	}
	return func(ctx context.Context, path string) ([]byte, error) {
		if address == "" {
			return nil, errors.New("NM_HOST, NM_HTTP_PORT: not set")
		}
		if user != "" {
			path += "?user.name=" + url.QueryEscape(user)
		}
		ctx, cancel := context.WithTimeout(ctx, nodeTime)
		defer cancel()
		return get(ctx, address, path)
	}
}

// get is GET over HTTP/1.0, with no more than we need.
func get(ctx context.Context, address, path string) ([]byte, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	request := fmt.Sprintf("GET %s HTTP/1.0\r\nHost: %s\r\nAccept: application/json\r\n\r\n", path, address)
	if _, err := io.WriteString(conn, request); err != nil {
		return nil, fmt.Errorf("%s: %w", address, err)
	}
	text, err := io.ReadAll(io.LimitReader(conn, nodeMost))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", address, err)
	}
	return body(text)
}

// body is what an answer carries.
func body(answer []byte) ([]byte, error) {
	head, rest, ok := bytes.Cut(answer, []byte("\r\n\r\n"))
	lines := bufio.NewScanner(bytes.NewReader(head))
	lines.Scan()
	words := strings.Fields(lines.Text())
	if !ok || len(words) < 2 || !strings.HasPrefix(words[0], "HTTP/1.") {
		return nil, errors.New("not an HTTP answer")
	}
	if words[1] != "200" {
		return nil, fmt.Errorf("HTTP status %s", words[1])
	}
	return rest, nil
}
