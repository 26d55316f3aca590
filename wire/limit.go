package wire

import "time"

// Limits bound what a peer can cost. Zero fields take the defaults.
type Limits struct {
	Up         int           // bytes of a frame to the coordinator
	Down       int           // bytes of a frame to an executor
	Queue      int           // frames waiting to be sent on one link
	QueueBytes int           // bytes of them, together
	Handshakes int           // TLS handshakes computed at once
	Greeting   time.Duration // TLS handshake, hello and welcome together
	Write      time.Duration // one write; a peer that does not read for this long is cut off
	Idle       time.Duration // no frame for this long: the peer is dead; 0: by the beat
}

func (l Limits) filled() Limits {
	set := func(v *int, to int) {
		if *v == 0 {
			*v = to
		}
	}
	span := func(v *time.Duration, to time.Duration) {
		if *v == 0 {
			*v = to
		}
	}
	set(&l.Up, 1<<20)
	set(&l.Down, 64<<20)
	set(&l.Queue, 1024)
	set(&l.QueueBytes, 2*l.Down)
	set(&l.Handshakes, 16)
	span(&l.Greeting, 20*time.Second)
	span(&l.Write, 20*time.Second)
	return l
}

// The coordinator judges silence itself (Link.LastBeat); its link only has to
// end some time after that. The executor has nobody else who would notice that
// the coordinator's machine is gone, so it waits for fewer missing answers.
func (l Limits) serverIdle(beat time.Duration) time.Duration { return l.idle(10*beat, time.Minute) }
func (l Limits) clientIdle(beat time.Duration) time.Duration { return l.idle(4*beat, 15*time.Second) }

func (l Limits) idle(beats, least time.Duration) time.Duration {
	if l.Idle != 0 {
		return l.Idle
	}
	return max(beats, least)
}
