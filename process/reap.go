package process

import (
	"errors"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// children tells of this process's children that have ended, its orphans among
// them. ended is closed when there are no children; below a subreaper that means
// no descendants either.
//
// There is one waiter for all, and it only looks (WNOWAIT): the loop takes the
// status itself, by pid. So no pid is freed behind the loop's back while it
// sends a signal to it, and the ends of its own children cannot be lost to a
// second waiter.
type children struct {
	ended chan int
	next  chan struct{} // the loop has reaped the last one
}

// reap is called once, after all processes of the specification were started.
func reap() children {
	c := children{ended: make(chan int), next: make(chan struct{})}
	go func() {
		defer close(c.ended)
		for {
			pid, err := waitAny()
			if errors.Is(err, unix.EINTR) {
				continue
			}
			if err != nil { // ECHILD
				return
			}
			c.ended <- pid
			<-c.next
		}
	}()
	return c
}

func waitAny() (int, error) {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOWAIT|unix.WALL, nil)
	// unix.Siginfo does not name the union after its three numbers, which starts
	// with the pid and is aligned to a pointer.
	const offset = (unsafe.Offsetof(info.Code) + 4 + unsafe.Sizeof(uintptr(0)) - 1) &^ (unsafe.Sizeof(uintptr(0)) - 1)
	return int(*(*int32)(unsafe.Add(unsafe.Pointer(&info), offset))), err
}

// childless says that this process has no children, dead or alive: below a
// subreaper nothing lives then.
func childless() bool {
	return errors.Is(unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT|unix.WALL, nil), unix.ECHILD)
}

func exitOf(pid int, status syscall.WaitStatus) Exit {
	e := Exit{PID: pid, Status: status.ExitStatus(), At: time.Now()}
	if status.Signaled() {
		e.Signal = status.Signal()
		e.Status = 128 + int(e.Signal)
	}
	return e
}

// used adds up what ended children have used.
type used struct {
	cpu    time.Duration
	memory int64 // the largest peak of a single process
}

func (u *used) add(r syscall.Rusage) {
	u.cpu += time.Duration(r.Utime.Nano() + r.Stime.Nano())
	u.memory = max(u.memory, r.Maxrss*1024)
}
