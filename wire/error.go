package wire

import (
	"errors"
	"fmt"
)

// What can end a link, or keep one from being made.
var (
	// ErrSuperseded: the coordinator of this connection has a lower term than one
	// that the executor has seen. errors.As with *SupersededError gives the term.
	ErrSuperseded = errors.New("superseded by a coordinator with a higher term")
	ErrVersion    = errors.New("versions of the protocol differ")
	ErrRefused    = errors.New("refused by the coordinator")
	ErrIdentity   = errors.New("certificate does not name the peer")
	ErrReplaced   = errors.New("replaced by a newer connection of the same executor")
	ErrSilent     = errors.New("peer is silent")
	ErrOverflow   = errors.New("peer does not read: send queue is full")
	ErrClosed     = errors.New("link is closed")
	ErrTooLarge   = errors.New("frame is too large")
	ErrGarbage    = errors.New("not a message of this protocol")
)

// SupersededError is ErrSuperseded with the higher term.
type SupersededError struct{ Term int64 }

func (e *SupersededError) Error() string { return fmt.Sprintf("%v: term %d", ErrSuperseded, e.Term) }

// Is makes errors.Is(err, ErrSuperseded) true.
func (e *SupersededError) Is(target error) bool { return target == ErrSuperseded }

// versions is the sentence that both sides print when they cannot talk.
func versions(executor int32, executorBinary string, coordinator int32, coordinatorBinary string) string {
	return fmt.Sprintf("protocol: executor (muster %s) speaks version %d, coordinator (muster %s) speaks version %d",
		executorBinary, executor, coordinatorBinary, coordinator)
}
