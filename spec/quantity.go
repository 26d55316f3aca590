package spec

import "time"

// Size is a number of bytes.
type Size int64

// Duration is a span of time; it prints as 1h30m.
type Duration time.Duration

// Count is a number of tasks, or a range that makes the job elastic.
// Zero means "not written".
type Count struct {
	Min int `json:"min"`
	Max int `json:"max"`
}

// Elastic says that the job may run with fewer tasks than Max.
func (c Count) Elastic() bool { return c.Min != c.Max }
