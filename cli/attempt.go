package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path"
	"sync"
	"time"

	"github.com/muster-project/muster/backend/yarn"
	"github.com/muster-project/muster/coordinator"
	"github.com/muster-project/muster/executor"
	"github.com/muster-project/muster/internal/frugal"
	"github.com/muster-project/muster/internal/version"
	"github.com/muster-project/muster/page"
)

// mailEvery is how often a coordinator on a cluster looks for messages: each look
// is a call to a file system that many share.
const mailEvery = time.Second

// attempt drives a job as the master of a YARN application, in its container.
// Standard error is the container's log.
func (e *Env) attempt(ctx context.Context) error {
	log := slog.New(slog.NewTextHandler(e.Stderr, nil))
	a, err := yarn.OpenAttempt(e.Dir, e.Getenv, log)
	if err != nil {
		return err
	}
	inner, settled := context.WithCancel(ctx)
	var settling sync.WaitGroup
	settling.Go(func() { frugal.Settle(inner) })
	defer settling.Wait()
	defer settled()
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", ":0")
	if err != nil {
		return fmt.Errorf("page: cannot listen: %w", err)
	}
	defer ln.Close()
	_, port, err := net.SplitHostPort(ln.Addr().String())
	if err != nil {
		return err
	}
	a.Opener.URL = "http://" + net.JoinHostPort(a.Host, port) + "/"
	dir, storage, user := string(a.AM.Dir), a.Storage(), a.AM.User
	var door *page.Door
	if a.AM.Guarded {
		door = &page.Door{Job: a.AM.Job, Rule: a.Rule(), Key: rand.Text(), Groups: a.Groups, Proxies: a.Proxies(), Front: a.Front, Log: log}
	}
	config := coordinator.Config{
		Dir: dir, FS: a.FS, Gang: a.Opener, Framework: knownFramework, Listen: ":0", Host: a.Host,
		Birth: func(c *executor.Context) {
			// Its container says where it lives; what it keeps lies with the job.
			c.Root, c.Blobs, c.Cgroup = "", "", ""
			c.Storage, c.User = storage, user
			c.Saved, c.Checkpoint = c.Checkpoint, ""
			c.Keep = path.Join(dir, "logs", c.Task.Dir())
		},
		Access: a.Rule(), Groups: a.Groups,
		MailEvery: mailEvery, PageURL: a.Opener.URL,
		Page:    func(ctx context.Context, l *coordinator.Live) error { return page.Serve(ctx, ln, l, door, log) },
		Version: version.String(), Log: log,
	}
	if door != nil {
		config.PageKey = door.Key
	}
	if a.Opener.Renewal != nil {
		config.Credentials = a.Opener.Renewal
	}
	err = coordinator.Run(ctx, config)
	if errors.Is(err, coordinator.ErrAside) || errors.Is(err, coordinator.ErrSuperseded) {
		log.Info("left the job to the next coordinator", "why", err)
		return nil
	}
	if err == nil {
		err = a.Ended(ctx)
	}
	return err
}
