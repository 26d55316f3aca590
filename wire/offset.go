package wire

import "time"

// offset estimates how far a peer's clock is behind ours, from beats. A beat
// echoes the mark of the last answer (our clock then) and says how long the
// peer held it, so round trip = now − mark − held, and the peer's Sent lies
// half of that before now. The sample with the shortest round trip is the best:
// the true offset is within half of it. A sample that contradicts the best one
// by more than both allow means that a clock was set: it replaces it.
type offset struct {
	known bool
	value time.Duration
	trip  time.Duration
	age   int // samples since value was taken
}

// stale is after how many samples any newer one is taken: clocks drift.
const stale = 60

func (o *offset) sample(sent, now time.Time, trip time.Duration) {
	if sent.IsZero() || trip < 0 {
		return
	}
	value := now.Add(-trip / 2).Sub(sent)
	o.age++
	jumped := (value - o.value).Abs() > (trip+o.trip)/2+time.Millisecond
	if !o.known || trip <= o.trip || jumped || o.age > stale {
		*o = offset{known: true, value: value, trip: trip}
	}
}
