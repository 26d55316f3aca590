package local

import "time"

// absent are the jobs that another server had before this one began. What they
// waited for there, and since when, their coordinators know: until they have
// said so, the first to come back would be served before those who were there
// earlier.
type absent struct {
	jobs  map[string]bool
	until time.Time
}

// comeBack is how long the queue waits for them. A coordinator looks for a
// server at least every two seconds; one that wants nothing never comes.
const comeBack = 2500 * time.Millisecond

// Expect names the jobs that may come back. It is called before Run.
func (e *Engine) Expect(jobs []string) {
	e.absent = absent{jobs: map[string]bool{}, until: time.Now().Add(comeBack)}
	for _, id := range jobs {
		e.absent.jobs[id] = true
	}
}

// came notes that a job's coordinator has spoken.
func (a *absent) came(job string) { delete(a.jobs, job) }

// over says that nobody need be waited for any more.
func (a *absent) over(now time.Time) bool {
	if !now.Before(a.until) {
		a.jobs = nil
	}
	return len(a.jobs) == 0
}
