package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/muster-project/muster/api"
	"github.com/muster-project/muster/backend/local"
)

// Config is all that a server is told.
type Config struct {
	State  string // directory of its own
	Socket string // default: in State
	// Shared makes it the server of all users of the machine. It must be root's.
	Shared bool
	// Idle is how long it stays without a job and without a request; 0: for ever.
	Idle time.Duration
	// Coordinator is the command line that runs a job, before "--job DIR", and
	// "--seal REASON" where a job of another user has to be ended.
	Coordinator []string
	// Lines is the command line that prints what a job's tasks printed, before
	// "--job DIR" and the flags of getLines; it ends with its input.
	Lines []string
	// Serve is the command line that starts this server again; coordinators are
	// told of it. Empty: they only wait for it.
	Serve   []string
	Version string
	Machine local.Settings
	Claims  []string // default: local.DefaultClaims
	// Seal opens the journal in a job's directory as a new term and ends the job
	// with an internal error; for a job whose coordinator cannot live.
	Seal func(ctx context.Context, dir, reason string) error
	// Away are the jobs on clusters; nil: none are tended here.
	Away Away
	// SiteFile holds the site's limits; it need not be there.
	SiteFile string
	Log      *slog.Logger

	// Backoff gives the wait before a coordinator that died for the n-th time in
	// a row is started again; Attempts is how often that is done before the job
	// is given up; one that lived longer than Steady starts the count again.
	Backoff  func(n int) time.Duration
	Attempts int
	Steady   time.Duration
}

func (c *Config) fill() error {
	if c.State == "" || len(c.Coordinator) == 0 || c.Seal == nil {
		return errors.New("serve: state directory, coordinator command and Seal must be given")
	}
	var err error
	if c.State, err = filepath.Abs(c.State); err != nil {
		return fmt.Errorf("%s: %w", c.State, err)
	}
	if c.Socket == "" {
		c.Socket = api.Socket(c.State)
	}
	if len(c.Claims) == 0 {
		c.Claims = local.DefaultClaims()
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Backoff == nil {
		c.Backoff = backoff
	}
	if c.Attempts == 0 {
		c.Attempts = 6
	}
	if c.Steady == 0 {
		c.Steady = time.Minute
	}
	return nil
}

// backoff doubles from 100 ms; with the default number of attempts a job whose
// coordinator cannot live is given up after about six seconds, well inside the
// lease of its executors.
func backoff(n int) time.Duration { return min(100*time.Millisecond<<min(n, 10), 10*time.Second) }
