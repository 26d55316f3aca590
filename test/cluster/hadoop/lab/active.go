package lab

import (
	"context"
	"errors"
	"fmt"
)

// kinds of daemons of which one is active.
const (
	nameNode = "nn"
	manager  = "rm"
)

// Active says which daemon of a kind, nn or rm, is the active one.
func (c *Cluster) Active(ctx context.Context, kind string) (string, error) {
	state, active := c.nameNodeState, stateActive
	switch kind {
	case nameNode:
	case manager:
		state, active = c.managerState, "ACTIVE"
	default:
		return "", fmt.Errorf("%s: is neither %s nor %s", kind, nameNode, manager)
	}
	names := c.kind(kind)
	if len(names) == 1 {
		return names[0], nil
	}
	run, err := c.running(ctx)
	if err != nil {
		return "", err
	}
	var failed []error
	for _, name := range names {
		if _, ok := run[name]; !ok {
			failed = append(failed, fmt.Errorf("%s: does not run", name))
			continue
		}
		switch is, err := state(ctx, name); {
		case err != nil:
			failed = append(failed, err)
		case is == active:
			return name, nil
		default:
			failed = append(failed, fmt.Errorf("%s: %s", name, is))
		}
	}
	return "", fmt.Errorf("%s: none is active: %w", kind, errors.Join(failed...))
}

// nameNodeState is active or standby.
func (c *Cluster) nameNodeState(ctx context.Context, name string) (string, error) {
	var status struct{ State string }
	err := c.bean(ctx, port(name, nnHTTP), "NameNode,name=NameNodeStatus", &status)
	return status.State, err
}

// managerState is ACTIVE, STANDBY or another state of a ResourceManager.
func (c *Cluster) managerState(ctx context.Context, name string) (string, error) {
	var answer struct {
		Info struct {
			State string `json:"haState"`
		} `json:"clusterInfo"`
	}
	err := c.get(ctx, port(name, rmWeb), "/ws/v1/cluster/info", &answer)
	return answer.Info.State, err
}

// Failover makes the other NameNode or ResourceManager of a pair the active one,
// and returns its name. Who is dead stays dead; a NameNode that does not step back
// is killed first, since two that write the same edits would ruin them.
func (c *Cluster) Failover(ctx context.Context, kind string) (string, error) {
	names := c.kind(kind)
	if len(names) != 2 || kind != nameNode && kind != manager {
		return "", fmt.Errorf("%s: there is no pair of them", kind)
	}
	old, err := c.Active(ctx, kind)
	if err != nil && kind == manager {
		return "", err // ZooKeeper is about to elect one
	}
	if kind == nameNode {
		return c.failoverNameNode(ctx, old)
	}
	if err := errors.Join(c.Kill(ctx, old), c.await(ctx, c.rmReady), c.Start(ctx, old)); err != nil {
		return "", err
	}
	return c.Active(ctx, kind)
}

// failoverNameNode is told which NameNode is active, if one is.
func (c *Cluster) failoverNameNode(ctx context.Context, old string) (string, error) {
	run, err := c.running(ctx)
	if err != nil {
		return "", err
	}
	next := ""
	for _, name := range c.nameNodes() {
		if _, ok := run[name]; ok && name != old && next == "" {
			next = name
		}
	}
	if next == "" {
		return "", errors.New("nn: no other one runs")
	}
	for name := range run { // the active one, or one that does not answer
		if kind, _ := split(name); kind != nameNode || name == next {
			continue
		}
		if err := c.transition(ctx, name, stateStandby); err != nil {
			if err := c.Kill(ctx, name); err != nil {
				return "", err
			}
		}
	}
	return next, c.await(ctx, func(ctx context.Context) error { return c.transition(ctx, next, stateActive) })
}

// promote makes the first NameNode of a new cluster active, once it is up.
func (c *Cluster) promote(ctx context.Context) error {
	if _, err := c.nameNodeState(ctx, c.nameNodes()[0]); err != nil {
		return err
	}
	return c.transition(ctx, c.nameNodes()[0], stateActive)
}
