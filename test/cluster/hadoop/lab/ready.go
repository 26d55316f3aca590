package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"
)

// Wait returns when every daemon is healthy: HDFS takes writes, the
// ResourceManager is active, and all NodeManagers have registered. Tests call it
// after they have restarted something.
func (c *Cluster) Wait(ctx context.Context) error {
	for _, check := range []func(context.Context) error{c.hdfsReady, c.rmReady, c.nodesReady} {
		if err := c.await(ctx, check); err != nil {
			return err
		}
	}
	return nil
}

// slow bounds the start of a cluster on a machine that has other work.
const slow = 6 * time.Minute

// await repeats a check until it holds. It gives up as soon as a daemon has ended
// by itself: what answers then would be another cluster's.
func (c *Cluster) await(ctx context.Context, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, slow)
	defer cancel()
	again := time.NewTicker(150 * time.Millisecond)
	defer again.Stop()
	for {
		if err := c.alive(ctx); err != nil {
			return err
		}
		err := check(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return fmt.Errorf("%w; last: %w", ctx.Err(), err)
		}
	}
}

// alive fails when a daemon has ended that nobody has stopped.
func (c *Cluster) alive(ctx context.Context) error {
	all, err := c.Daemons(ctx)
	if err != nil {
		return err
	}
	var bad []error
	for _, d := range all {
		if d.Ended != "" && !d.Asked {
			path := c.path("logs", d.Name+".log")
			data, _ := os.ReadFile(path) // what it says helps, but the end is the news
			bad = append(bad, fmt.Errorf("%s: has ended: %s\n%s\n  hint: see %s", d.Name, d.Ended, tail(string(data), 8), path))
		}
	}
	return errors.Join(bad...)
}

// running returns the daemons that run, by name. Those that a test has stopped
// are not waited for.
func (c *Cluster) running(ctx context.Context) (map[string]Status, error) {
	all, err := c.Daemons(ctx)
	if err != nil {
		return nil, err
	}
	run := map[string]Status{}
	for _, d := range all {
		if d.PID != 0 {
			run[d.Name] = d
		}
	}
	return run, nil
}

func (c *Cluster) hdfsReady(ctx context.Context) error {
	run, err := c.running(ctx)
	if err != nil {
		return err
	}
	if _, ok := run["dn"]; ok {
		if err := c.dataReady(ctx); err != nil {
			return err
		}
	}
	active := ""
	for _, name := range c.nameNodes() {
		if _, ok := run[name]; !ok {
			continue
		}
		switch state, err := c.nameNodeState(ctx, name); {
		case err != nil:
			return err
		case state == stateActive:
			active = name
		case active == "":
			active = "none"
		}
	}
	switch active {
	case "": // all are stopped
		return nil
	case "none":
		return errors.New("NameNode: none is active")
	}
	var state struct {
		FSState          string
		NumLiveDataNodes int
	}
	if err := c.bean(ctx, port(active, nnHTTP), "NameNode,name=FSNamesystemState", &state); err != nil {
		return err
	}
	if state.FSState != "Operational" || state.NumLiveDataNodes != 1 {
		return fmt.Errorf("NameNode: not healthy yet: %+v", state)
	}
	return nil
}

// dataReady asks the DataNode itself: the NameNode goes on counting one that was
// killed for minutes.
func (c *Cluster) dataReady(ctx context.Context) error {
	var info struct{ BPServiceActorInfo string }
	if err := c.bean(ctx, dnHTTP, "DataNode,name=DataNodeInfo", &info); err != nil {
		return err
	}
	var actors []struct{ ActorState string }
	if err := json.Unmarshal([]byte(info.BPServiceActorInfo), &actors); err != nil {
		return fmt.Errorf("DataNode: %w", err)
	}
	registered := 0
	for _, a := range actors {
		if a.ActorState == "RUNNING" {
			registered++
		}
	}
	// Where one NameNode of two is dead, the other is enough.
	run, err := c.running(ctx)
	if err != nil {
		return err
	}
	want := 0
	for _, name := range c.nameNodes() {
		if _, ok := run[name]; ok {
			want++
		}
	}
	if registered < want || len(actors) != len(c.nameNodes()) {
		return fmt.Errorf("DataNode: not registered yet: %+v", actors)
	}
	return nil
}

// rmReady demands an active ResourceManager, and that the other one answers.
func (c *Cluster) rmReady(ctx context.Context) error {
	run, err := c.running(ctx)
	if err != nil {
		return err
	}
	states := map[string]string{}
	for _, name := range c.managers() {
		if _, ok := run[name]; !ok {
			continue
		}
		if states[name], err = c.managerState(ctx, name); err != nil {
			return err
		}
	}
	if len(states) > 0 && !slices.Contains(slices.Collect(maps.Values(states)), "ACTIVE") {
		return fmt.Errorf("ResourceManager: none is active: %v", states)
	}
	return nil
}

// nodesReady demands that the ResourceManager has heard of each NodeManager that
// runs since it was started.
func (c *Cluster) nodesReady(ctx context.Context) error {
	run, err := c.running(ctx)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(c.managers(), func(name string) bool { _, ok := run[name]; return ok }) {
		return nil
	}
	var answer struct {
		Nodes struct {
			Node []struct {
				ID     string `json:"id"`
				State  string `json:"state"`
				Update int64  `json:"lastHealthUpdate"` // ms, by the NodeManager's clock, which is ours
			} `json:"node"`
		} `json:"nodes"`
	}
	if err := c.manager(ctx, "/ws/v1/cluster/nodes", &answer); err != nil {
		return err
	}
	heard := map[string]int64{}
	for _, n := range answer.Nodes.Node {
		if n.State == "RUNNING" {
			heard[n.ID] = n.Update
		}
	}
	for name, d := range run {
		if id, err := c.Node(name); err == nil && heard[id] < d.Since.UnixMilli() {
			return fmt.Errorf("%s: not registered yet", name)
		}
	}
	return nil
}
