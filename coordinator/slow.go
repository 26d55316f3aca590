package coordinator

import (
	"time"
)

// slowWrite is how long a write of the journal may take before the log says so: a
// NameNode that fails over or restarts is away for longer, and calls to it are
// repeated for minutes before they fail.
const slowWrite = 3 * time.Second

// watchWrite says in the log that a write takes long, and when it is over. Nothing
// else comes of it: executors are answered, and tasks go on. The function that it
// returns ends the watch.
func (k *coordinator) watchWrite() (over func()) {
	begun := time.Now()
	warned := make(chan struct{})
	t := time.AfterFunc(slowWrite, func() {
		defer close(warned)
		k.Log.Warn("the journal's storage does not answer: nothing new is decided until it does; tasks go on", "for", slowWrite)
	})
	return func() {
		if t.Stop() {
			return
		}
		<-warned
		k.Log.Warn("the journal's storage has answered", "after", time.Since(begun).Round(time.Millisecond))
	}
}
