package history

import (
	"context"
	"errors"
	"time"

	"github.com/muster-project/muster/storage"
)

// Storage that is away is waited for as long as a machine takes to come back. A
// resource manager gives a coordinator that does not report ten minutes.
const (
	awayFirst = 200 * time.Millisecond
	awayMost  = 5 * time.Second
	awayFor   = 5 * time.Minute
)

// patiently makes a call that changes nothing, or the same every time, until
// storage is there.
func patiently(ctx context.Context, call func() error) error {
	begun := time.Now()
	for wait := awayFirst; ; wait = min(2*wait, awayMost) {
		err := call()
		if !errors.Is(err, storage.ErrAway) || time.Since(begun) > awayFor {
			return err
		}
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return errors.Join(ctx.Err(), err)
		}
	}
}
