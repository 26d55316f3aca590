// Package conformance holds the real backends to the suite of backendtest, with
// the real command line, server, coordinators and executors.
package conformance

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if status, is := muster(); is {
		os.Exit(status)
	}
	goleak.VerifyTestMain(m)
}
