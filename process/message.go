package process

import (
	"syscall"
	"time"
)

// The executor and its guardian talk in gob over two pipes, the guardian's
// stdin and stdout. Gob, since environments are bytes and JSON would alter
// those that are not UTF-8. A specification never travels in argv, where every
// user of the machine could read the environments in it.

// order goes from executor to guardian. The first has Spec; in others exactly
// one field is set. The end of the pipe is the order to kill everything.
type order struct {
	Spec   *Spec
	Stop   *stopOrder
	Signal *signalOrder
}

type stopOrder struct {
	Signal syscall.Signal
	Grace  time.Duration
	Now    bool
}

type signalOrder struct {
	ID     int
	Signal syscall.Signal
}

// report goes from guardian to executor. Exactly one field is set. Started is
// the first, Result the last.
type report struct {
	Started *started
	Answer  *answer
	Usage   *Usage
	Result  *Result
}

type started struct {
	PIDs    []int // 0 where a process did not start
	Cgroups []string
}

type answer struct {
	ID    int
	Error string
}
