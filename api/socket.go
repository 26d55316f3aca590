package api

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// maxSocket is what fits into a socket address, with its final zero.
const maxSocket = 107

// Socket is where a user's own server with this state directory listens.
func Socket(state string) string { return filepath.Join(state, "serve.sock") }

// SharedSocket is where an administrator's server listens by default.
const SharedSocket = "/run/muster/serve.sock"

// Dial connects to a unix socket, however long its path.
func Dial(ctx context.Context, path string) (net.Conn, error) {
	short, done, err := shorten(path)
	if err != nil {
		return nil, err
	}
	defer done()
	var d net.Dialer
	return d.DialContext(ctx, "unix", short)
}

// Listen opens a unix socket, however long its path, in place of one that a
// dead server left behind. The caller holds the lock that says it is dead.
func Listen(path string) (*net.UnixListener, error) {
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("%s: the old socket cannot be removed: %w", path, err)
	}
	short, done, err := shorten(path)
	if err != nil {
		return nil, err
	}
	defer done()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: short, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("%s: cannot listen: %w", path, err)
	}
	l.SetUnlinkOnClose(false) // it would remove by the short name
	return l, nil
}

// shorten reaches a socket whose path does not fit through the descriptor of
// its directory.
func shorten(path string) (short string, done func(), err error) {
	if len(path) <= maxSocket {
		return path, func() {}, nil
	}
	fd, err := unix.Open(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", nil, fmt.Errorf("%s: cannot be reached: %w", filepath.Dir(path), err)
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", fd, filepath.Base(path)), func() { unix.Close(fd) }, nil
}
