package executor

import (
	"fmt"
	"time"

	"github.com/muster-project/muster/wire"
)

// sendBeat tells that we live, what the task uses, and its progress if it changed.
func (e *executor) sendBeat() {
	if e.conn == nil {
		return
	}
	i := &e.now
	if i.tree != nil {
		i.usage = i.tree.Usage()
	}
	b := wire.Beat{Incarnation: i.number, Sent: time.Now(), Progress: i.progress,
		Usage: wire.Usage{CPU: i.usage.CPU, Memory: i.usage.Memory, Procs: i.usage.Procs}}
	if err := e.conn.Send(wire.Message{Beat: &b}); err == nil {
		i.progress = nil
	}
}

// deadline is when the tree must be ended for want of a coordinator: after the
// lease, or after the short lease where the job directory is out of reach too,
// since then this node is cut off and another one may be given our task.
func (e *executor) deadline() time.Time {
	lease, short := time.Duration(e.Lease), e.short()
	if e.seen.Lease > 0 {
		lease = e.seen.Lease
	}
	if lease <= 0 {
		lease = short
	}
	cut := e.contact
	if e.dirOK.After(cut) {
		cut = e.dirOK
	}
	end, cutOff := e.contact.Add(lease), cut.Add(short)
	if e.Endpoints != "" && cutOff.Before(end) {
		return cutOff
	}
	return end
}

func (e *executor) short() time.Duration {
	if e.Short > 0 {
		return time.Duration(e.Short)
	}
	return ShortLease
}

// arm sets the timer of the lease. It is idle while there is a link: its own
// deadlines notice a coordinator that is gone.
func (e *executor) arm() { e.lease.Reset(time.Until(e.deadline())) }

func (e *executor) expire() {
	if e.conn != nil || e.ending != nil {
		return
	}
	if rest := time.Until(e.deadline()); rest > 0 {
		e.lease.Reset(rest)
		return
	}
	e.end(fmt.Errorf("%w for %s", ErrLease, time.Since(e.contact).Round(time.Millisecond)))
}
