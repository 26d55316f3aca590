package process

import (
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// fork starts a program below the limits. Where the kernel lets it, the process is
// born in its cgroups, so nothing that it forks can slip out; to move it later
// would also cost some ten milliseconds in which no process of the machine can
// start or end.
func (l *limit) fork(path string, p Proc, attr syscall.ProcAttr) (int, error) {
	restore, err := l.pin()
	if err != nil {
		return 0, err
	}
	defer restore()
	if l.cgroup != nil {
		if leave, ok := l.cgroup.enter(attr.Sys); ok {
			pid, err := syscall.ForkExec(path, p.Argv, &attr)
			if leave(); err == nil {
				return pid, nil
			}
			attr.Sys.UseCgroupFD = false // perhaps the kernel does not know it
		}
	}
	pid, err := syscall.ForkExec(path, p.Argv, &attr)
	if err != nil {
		return 0, explain(p, path, err)
	}
	l.attach(pid)
	return pid, nil
}

// room is a cgroup of version 1 that a thread can enter by itself, and the one
// that it came from: their files "tasks".
type room struct{ inside, outside string }

// enter puts this thread into the cgroups of version 1, which what it forks
// inherits, and asks for a birth in the one of version 2, where threads cannot be
// alone. The thread must leave at once; ok is false where it could not enter.
//
// That a thread moves itself, named by 0, is the one move for which the kernel
// stops no other process.
func (c *cgroup) enter(sys *syscall.SysProcAttr) (leave func(), ok bool) {
	var ways []*os.File // to go out again: opened first, so that nothing can be in the way then
	fd := -1
	leave = func() {
		for _, f := range ways {
			_, _ = f.WriteString("0") // it was allowed before
			_ = f.Close()
		}
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
	for _, r := range c.rooms {
		back, err := os.OpenFile(r.outside, os.O_WRONLY, 0)
		if err != nil {
			leave()
			return nil, false
		}
		ways = append(ways, back)
		if put(filepath.Dir(r.inside), filepath.Base(r.inside), "0") != nil {
			leave()
			return nil, false
		}
	}
	if c.unified != "" {
		var err error
		if fd, err = unix.Open(c.unified, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
			leave()
			return nil, false
		}
		sys.UseCgroupFD, sys.CgroupFD = true, fd
	}
	return leave, true
}
