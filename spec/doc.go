// Package spec is the job file: YAML, flags and site defaults come in, a
// checked Job and a list of all problems, each with its place, come out.
//
// It does no I/O: callers hand it bytes with a name for messages.
package spec
