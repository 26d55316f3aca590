package server

import (
	"context"
	"fmt"
	"net"
	"os/user"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Person is who is at the other end of a connection, from the kernel.
type Person struct {
	UID    int      `json:"uid"`
	GID    int      `json:"gid"`
	Groups []uint32 `json:"groups"`
	Name   string   `json:"name"`
	Home   string   `json:"home"`
}

func (p Person) root() bool { return p.UID == 0 }

type personKey struct{}

// withPeer remembers who a connection comes from; see http.Server.ConnContext.
func withPeer(ctx context.Context, c net.Conn) context.Context {
	p, err := peer(c)
	if err != nil {
		return ctx // the handler refuses who cannot be named
	}
	return context.WithValue(ctx, personKey{}, p)
}

// peer asks the kernel who connected. The groups are those of the process that
// did, not those of a database, so a job has exactly its submitter's rights.
func peer(c net.Conn) (Person, error) {
	sock, ok := c.(*net.UnixConn)
	if !ok {
		return Person{}, fmt.Errorf("%T: not a unix socket", c)
	}
	raw, err := sock.SyscallConn()
	if err != nil {
		return Person{}, err
	}
	var cred *unix.Ucred
	var groups []uint32
	var asked error
	err = raw.Control(func(fd uintptr) {
		if cred, asked = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); asked == nil {
			groups, asked = peerGroups(fd)
		}
	})
	if err == nil {
		err = asked
	}
	if err != nil {
		return Person{}, fmt.Errorf("peer: the kernel does not say who it is: %w", err)
	}
	return person(int(cred.Uid), int(cred.Gid), groups), nil
}

func person(uid, gid int, groups []uint32) Person {
	p := Person{UID: uid, GID: gid, Groups: groups, Name: strconv.Itoa(uid), Home: "/"}
	if u, err := user.LookupId(p.Name); err == nil {
		p.Name, p.Home = u.Username, u.HomeDir
	}
	return p
}

// peerGroups is SO_PEERGROUPS, which x/sys does not wrap.
func peerGroups(fd uintptr) ([]uint32, error) {
	groups := make([]uint32, 64)
	for {
		size := uint32(len(groups) * 4)
		_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, fd, unix.SOL_SOCKET, unix.SO_PEERGROUPS,
			uintptr(unsafe.Pointer(&groups[0])), uintptr(unsafe.Pointer(&size)), 0)
		switch errno {
		case 0:
			return groups[:size/4], nil
		case unix.ERANGE:
			groups = make([]uint32, max(int(size/4), 2*len(groups)))
		default:
			return nil, errno
		}
	}
}
