package local

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/muster-project/muster/storage"
)

var _ storage.Notifier = FS{}

// changes are what can be seen in a directory after they happened.
const changes = unix.IN_CREATE | unix.IN_MODIFY | unix.IN_MOVED_TO | unix.IN_ONLYDIR

// Notify tells of changes by this machine; of those by others on a network file
// system the kernel hears nothing.
func (FS) Notify(dir string) (storage.Notice, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, problem(dir, "cannot be watched", err)
	}
	f := os.NewFile(uintptr(fd), "inotify")
	if _, err := unix.InotifyAddWatch(fd, dir, changes); err != nil {
		_ = f.Close() // nothing was read from it
		return nil, problem(dir, "cannot be watched", err)
	}
	n := &notice{file: f, c: make(chan struct{}, 1), done: make(chan struct{})}
	go n.read()
	return n, nil
}

// notice turns what the kernel queues into one token: only that something
// changed is told, not what.
type notice struct {
	file *os.File
	c    chan struct{}
	done chan struct{}
}

func (n *notice) C() <-chan struct{} { return n.c }

func (n *notice) Close() error {
	err := n.file.Close()
	<-n.done
	return err
}

func (n *notice) read() {
	defer close(n.done)
	buf := make([]byte, 4<<10)
	for {
		if _, err := n.file.Read(buf); err != nil {
			return // closed; whoever waits also looks now and then
		}
		select {
		case n.c <- struct{}{}:
		default:
		}
	}
}
