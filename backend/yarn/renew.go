package yarn

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/muster-project/muster/backend"
	"github.com/muster-project/muster/hadoop/token"
)

// Renewal is the HDFS tokens of a job's containers, inside its coordinator. The
// ones that came with the submission are prolonged by the resource manager until
// the end of their life. Then whoever has a keytab gets new ones:
//
//	tokens of the submission ── three quarters of their life ──┬─ no keytab ─→ warned
//	                                                           └─ keytab ──┐
//	own tokens ─── three quarters of the time until they would have        │
//	    ▲          to be prolonged; we do not, but get new ones  ──────────┤
//	    └──────────────────────────── fetched ◀── again, again ◀───────────┘
type Renewal struct {
	// source gets a new token of the file system that an old one was for; nil
	// without a keytab.
	source func(ctx context.Context, service string) (token.Token, tokenLife, error)
	// cancel ends a token that source gave.
	cancel func(ctx context.Context, t token.Token) error
	log    *slog.Logger

	mu      sync.Mutex
	current *token.Credentials
	serial  int64 // 0: they are those of the submission
	issued  int64 // as a serial, of those of the submission
	lives   []tokenLife
	changed chan struct{}
}

// newRenewal begins with the tokens of the container. It is nil where the cluster
// wants none.
func newRenewal(cred *token.Credentials, log *slog.Logger) *Renewal {
	r := &Renewal{log: log, current: cred.Only(token.KindHDFS), issued: cred.Issued(), changed: make(chan struct{})}
	if len(r.current.Tokens) == 0 {
		return nil
	}
	for i := range r.current.Tokens {
		t := &r.current.Tokens[i]
		id, err := token.ParseHDFS(t)
		if err != nil {
			log.Warn("the life of a token is not known", "token", t, "error", err)
			continue
		}
		r.lives = append(r.lives, tokenLife{Issued: time.UnixMilli(id.Issued), End: time.UnixMilli(id.Max)})
	}
	return r
}

// Newest gives the newest tokens and their number to whoever passes them on to
// executors; changed is closed once there are newer ones.
func (r *Renewal) Newest() (serial int64, data []byte, changed <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.serial, r.current.Bytes(), r.changed
}

// tokens are those that a new container gets.
func (r *Renewal) tokens() []token.Token {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.current.Tokens
}

// run keeps the tokens alive until ctx is done. What cannot be done is told once
// for each reason.
func (r *Renewal) run(ctx context.Context, warn func(backend.Warning)) {
	if r == nil || r.source == nil && len(r.lives) == 0 {
		return
	}
	at, failures := due(r.lives, rand.Float64()), 0
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		if r.source == nil {
			warn(r.mortal())
			return
		}
		err := r.fetch(ctx)
		switch {
		case err == nil:
			failures = 0
			timer.Reset(time.Until(due(r.lives, rand.Float64())))
		case ctx.Err() != nil:
			return
		default:
			failures++
			wait := again(time.Until(end(r.lives)), failures, rand.Float64())
			r.log.Error("no new tokens for the job; trying again", "error", err, "in", wait)
			if failures == fewFailures {
				warn(backend.Warning{Text: fmt.Sprintf("the job's tokens for HDFS cannot be replaced, and end on %s: %s",
					end(r.lives).UTC().Format(time.RFC1123), firstLine(err.Error())), Hint: "the coordinator goes on trying; its log has more"})
			}
			timer.Reset(wait)
		}
	}
}

// giveBack ends tokens that nobody needs any more: the resource manager does not
// know of those that it did not get with the submission. Older ones than the
// newest are over within a day.
func (r *Renewal) giveBack(ctx context.Context) {
	if r == nil || r.serial == 0 {
		return
	}
	for _, t := range r.tokens() {
		if err := r.cancel(ctx, t); err != nil {
			r.log.Warn("a token was not cancelled; it ends by itself", "token", &t, "error", err)
		}
	}
}

// fewFailures are those that nobody need hear of.
const fewFailures = 3

// mortal is what somebody should know of a job without a keytab.
func (r *Renewal) mortal() backend.Warning {
	return backend.Warning{
		Text: fmt.Sprintf("the job's tokens for HDFS end on %s, and nobody can get new ones: from then on its logs, checkpoints and history cannot be written",
			end(r.lives).UTC().Format(time.RFC1123)),
		Hint: "a job that runs longer names a keytab: native.yarn.keytab and native.yarn.principal",
	}
}

// fetchLimit bounds one try.
const fetchLimit = 2 * time.Minute

// fetch gets new tokens of all file systems, or none.
func (r *Renewal) fetch(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, fetchLimit)
	defer cancel()
	old := r.tokens()
	fresh, lives := make([]token.Token, len(old)), make([]tokenLife, len(old))
	g, inner := errgroup.WithContext(ctx)
	for i := range old {
		g.Go(func() (err error) {
			fresh[i], lives[i], err = r.source(inner, old[i].Service)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.current, r.lives = &token.Credentials{Tokens: fresh}, lives
	// The number grows from one coordinator to the next, whoever's clock is behind.
	r.serial = max(r.current.Issued(), r.serial+1, r.issued+1)
	close(r.changed)
	r.changed = make(chan struct{})
	r.log.Info("new tokens for the job", "serial", r.serial, "end", end(lives))
	return nil
}
