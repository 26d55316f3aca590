package spec

import (
	"regexp"
	"sync"
)

// lazy is a regular expression that is compiled when it is first used: every
// process of muster has this package in it, and only the command line reads job
// files.
func lazy(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
