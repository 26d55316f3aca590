//go:build !hadoop

package history

// child does what a process is for that a test started. Only tests against a
// cluster start any.
func child() bool { return false }
