package yarn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	hadoop "github.com/muster-project/muster/hadoop/yarn"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/storage"
)

// describe writes what the coordinator of the n-th submission is told, with the
// files that its containers need sent.
func (j *job) describe(ctx context.Context, n int, id hadoop.AppID, aside Aside) (*AM, error) {
	c, err := j.recently(ctx)
	if err != nil {
		return nil, err
	}
	am := &AM{Version: AMVersion, Job: j.plan.ID, User: j.User, Dir: j.dir, Root: j.store.layout.Root, Shared: j.store.layout.Shared,
		App: id.String(), Try: n, Ticket: id.String(), Queue: queueOf(j.plan), Priority: j.plan.Priority,
		Coordinator: j.settings.Coordinator, Scheduler: c.Scheduler, Blobs: map[string]Resource{}, Heartbeat: beat, Kept: j.Kept}
	if aside.Ticket != "" {
		am.Ticket, am.TicketTime = aside.Ticket, aside.TicketTime
	}
	am.ACLs = j.plan.ACLs
	if am.Guarded = c.Guarded; c.Guarded {
		am.Admins = c.admins(am.Queue)
	}
	if found := find(c.Root, am.Queue); len(found) == 1 {
		am.Queue, am.Label = found[0].Path, found[0].DefaultLabel
	}
	if j.Login.Secure() {
		am.Principal, am.Filesystems = j.settings.Principal, j.settings.Filesystems
	}
	am.Partitions = partitions(j.settings, j.plan, am.Label)
	if am.Filesystem, err = j.Conf.Find("fs.defaultFS"); err != nil {
		return nil, err
	}
	if err := j.files(ctx, am); err != nil {
		return nil, err
	}
	data, err := json.MarshalIndent(am, "", "  ")
	if err != nil {
		return nil, err
	}
	err = storage.PublishBytes(ctx, j.fs, j.dir.AM(n), modeData, data)
	if errors.Is(err, fs.ErrExist) {
		// Somebody submits the same application at the same time: theirs is as good.
		var theirs AM
		return &theirs, readJSON(ctx, j.fs, j.dir.AM(n), &theirs)
	}
	return am, err
}

// partitions are the node labels that a job's slots are asked with.
func partitions(s *Settings, p *plan.Plan, label string) []string {
	var out []string
	for _, l := range s.Partitions(p) {
		if l == "" {
			l = label
		}
		out = append(out, l)
	}
	return compact(out)
}

// files sends the binaries and the configuration, and finds the plan's blobs,
// which Stage has sent.
func (j *job) files(ctx context.Context, am *AM) error {
	var err error
	for _, binary := range []struct {
		name string
		path func() (string, error)
		into *Resource
	}{{FileMuster, j.Muster, &am.Muster}, {FileExecutor, j.Executor, &am.Executor}} {
		local, err := binary.path()
		if err != nil {
			return fmt.Errorf("the %s binary for the cluster's nodes: %w", binary.name, err)
		}
		if *binary.into, _, err = j.store.putFile(ctx, local, modeProgram); err != nil {
			return fmt.Errorf("the %s binary for the cluster's nodes: %w", binary.name, err)
		}
	}
	if am.Site, err = j.store.putBytes(ctx, j.Conf.XML(sent), modeData); err != nil {
		return err
	}
	for _, f := range append(slices.Clone(j.plan.Work.Files), j.plan.Python.File()) {
		if !f.Remote() {
			continue
		}
		at, err := remotePath(f.Source, j.Conf.String("fs.defaultFS", ""))
		if err == nil {
			am.Blobs[f.Key()], err = j.store.resource(ctx, at)
		}
		if err != nil {
			return fmt.Errorf("files: %s: %w", f.Source, err)
		}
	}
	for _, sha := range blobsOf(j.plan) {
		if _, there := am.Blobs[sha]; there {
			continue
		}
		if err := j.store.touch(ctx, sha); err != nil {
			return err
		}
		if am.Blobs[sha], err = j.store.resource(ctx, j.store.layout.Blob(sha)); err != nil {
			return fmt.Errorf("a file of the job has not been sent to the cluster: %w", err)
		}
	}
	return nil
}

// sent says which keys of the configuration coordinators get: where the
// cluster's services are, how to talk to them, and who they are.
func sent(key string) bool {
	return stored(key) || begins(key, "fs.default.name", "ipc.client.", "io.file.buffer.size",
		"yarn.resourcemanager.", "yarn.scheduler.", "yarn.resource-types", "yarn.client.", "yarn.http.policy", "yarn.nodemanager.principal",
		"yarn.nodemanager.remote-app-log-dir", "yarn.log-aggregation", "yarn.nodemanager.log-aggregation", "yarn.web-proxy.") && !secret(key)
}

// stored says which of them whoever only reads and writes files needs.
func stored(key string) bool {
	return begins(key, "fs.defaultFS", "dfs.", "hadoop.security.", "hadoop.rpc.", "hadoop.kerberos.") && !secret(key)
}

func begins(key string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(key, p) })
}

// secret says that a key holds a secret, or says where on a server one lies:
// jobs get neither.
func secret(key string) bool {
	return slices.ContainsFunc([]string{"password", "keytab", "secret", "credential", "zk-auth"}, func(word string) bool { return strings.Contains(key, word) })
}
