package rpc

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/muster-project/muster/hadoop/sasl"
)

// Retry says how long a call is repeated. The zero value stands for: one minute,
// waiting 100 ms at first and 5 s at most.
type Retry struct {
	For   time.Duration // from the first failure on; negative: as long as the context lives
	First time.Duration // the first wait, once every address was tried; then it doubles
	Most  time.Duration // the longest wait
	Tries int           // tries in all, whatever the time; 0: any number
}

// Never is the policy of a single try, though each address gets one.
var Never = Retry{Tries: 1}

func (r Retry) filled() Retry {
	if r.For == 0 {
		r.For = time.Minute
	}
	if r.First <= 0 {
		r.First = 100 * time.Millisecond
	}
	if r.Most <= 0 {
		r.Most = 5 * time.Second
	}
	return r
}

// Why a try did not end as it should.
var (
	errSilent = errors.New("the server did not answer in time")
	errSlow   = errors.New("it took too long")
)

// authError says that who calls could not be told.
type authError struct{ err error }

func (e *authError) Error() string { return "no proof of who calls: " + e.err.Error() }
func (e *authError) Unwrap() error { return e.err }

// proofError says that an exchange could not be begun or went wrong.
type proofError struct{ err error }

func (e *proofError) Error() string { return e.err.Error() }
func (e *proofError) Unwrap() error { return e.err }

// setupError says that the client was made wrongly.
type setupError struct{ err error }

func (e *setupError) Error() string { return e.err.Error() }

// requestError says that a request cannot be sent at all.
type requestError struct{ err error }

func (e *requestError) Error() string { return "request: " + e.err.Error() }
func (e *requestError) Unwrap() error { return e.err }

// verdict is what a failed try means for the next.
type verdict int

const (
	giveUp  verdict = iota // repeating changes nothing
	again                  // the same server, later
	refused                // the server did nothing; another may
	lost                   // the server went away, and may have done it
)

// judge tells what a failed try means.
func judge(ctx context.Context, err error) verdict {
	switch {
	case ctx.Err() != nil, errors.Is(err, ErrClosed):
		return giveUp
	case errors.Is(err, sasl.ErrAway):
		return lost
	case is[*authError](err), is[*proofError](err), is[*requestError](err), is[*setupError](err):
		return giveUp
	case errors.Is(err, sasl.ErrProtection), errors.Is(err, sasl.ErrDigest), errors.Is(err, ErrNoMethod), errors.Is(err, ErrProtocol):
		return giveUp
	case errors.Is(err, Standby), errors.Is(err, ObserverRetry):
		return refused
	case errors.Is(err, Retriable):
		return again
	case is[*RemoteError](err):
		return giveUp
	}
	return lost
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// open tells whether a request that was sent may have been done: the server has
// answered it with nothing.
func open(err error) bool {
	r, ok := errors.AsType[*RemoteError](err)
	return !ok || r.Fatal && !errors.Is(r, Standby) && !errors.Is(r, Retriable)
}

// tries counts what a call has used of its policy.
type tries struct {
	policy    Retry
	addresses int
	count     int
	deadline  time.Time
	pause     time.Duration
}

func (r Retry) begin(addresses int) *tries {
	return &tries{policy: r, addresses: max(addresses, 1), pause: r.First}
}

// wait waits until the next try is due. Its error ends the call: the last one,
// with what made an end.
func (t *tries) wait(ctx context.Context, what verdict, last error) error {
	t.count++
	now := time.Now()
	if t.count == 1 && t.policy.For > 0 {
		t.deadline = now.Add(t.policy.For)
	}
	if t.policy.Tries > 0 && t.count >= t.policy.Tries*t.addresses {
		return last
	}
	if what != again && t.count%t.addresses != 0 {
		return nil // another address has not been tried yet
	}
	pause := t.pause/2 + rand.N(t.pause/2+1)
	t.pause = min(2*t.pause, t.policy.Most)
	if !t.deadline.IsZero() && now.Add(pause).After(t.deadline) {
		return fmt.Errorf("given up after %d tries: %w", t.count, last)
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", context.Cause(ctx), last)
	}
}
