package server

import (
	"context"
	"time"
)

// Away are the jobs of this user that run on clusters. Their coordinators live
// there; what they need of somebody here is that they are submitted again when
// they stepped aside, and sealed when the cluster ended them.
type Away interface {
	// Open lists the jobs that are not sealed, by names that Keep takes.
	Open() ([]string, error)
	// Keep tends one until it is sealed (nil).
	Keep(ctx context.Context, name string) error
}

// Waits of who tends a job on a cluster: for new jobs, and after a failure.
const (
	awayEvery = time.Second
	awayFirst = 2 * time.Second
	awayMost  = time.Minute
)

// tendAway tends all jobs on clusters until ctx is done. A command that submits
// one only writes a note; it is found here.
func (s *Server) tendAway(ctx context.Context) {
	if s.Away == nil {
		return
	}
	tick := time.NewTicker(awayEvery)
	defer tick.Stop()
	known := map[string]bool{}
	for {
		names, err := s.Away.Open()
		if err != nil {
			s.Log.Warn("jobs on clusters cannot be listed", "error", err)
		}
		for _, name := range names {
			if !known[name] {
				known[name] = true
				s.count(1)
				s.owned.Go(func() {
					defer s.count(-1)
					s.tend(ctx, name)
				})
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// tend keeps one job. The cluster may be away for as long as it likes.
func (s *Server) tend(ctx context.Context, name string) {
	s.Log.Info("tending", "job", name)
	for wait := awayFirst; ; wait = min(2*wait, awayMost) {
		err := s.Away.Keep(ctx, name)
		if err == nil || ctx.Err() != nil {
			s.touched()
			return
		}
		s.Log.Warn("job on a cluster cannot be tended now", "job", name, "error", err, "wait", wait)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
	}
}

// count counts jobs on clusters that are tended: the server stays for them.
func (s *Server) count(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away += n
	s.last = time.Now()
}
