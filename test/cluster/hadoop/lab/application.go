package lab

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
)

// KillApplications kills every application that has not ended, so that what one
// test has left does not take room from the next.
func (c *Cluster) KillApplications(ctx context.Context) error {
	var answer struct {
		Apps struct {
			App []struct {
				ID string `json:"id"`
			} `json:"app"`
		} `json:"apps"`
	}
	name, err := c.Active(ctx, manager)
	if err != nil {
		return err
	}
	at := port(name, rmWeb)
	if err := c.get(ctx, at, "/ws/v1/cluster/apps?states=NEW,NEW_SAVING,SUBMITTED,ACCEPTED,RUNNING", &answer); err != nil {
		return err
	}
	var failed []error
	for _, app := range answer.Apps.App {
		failed = append(failed, c.web(ctx, http.MethodPut, at, "/ws/v1/cluster/apps/"+app.ID+"/state?user.name=root",
			strings.NewReader(`{"state":"KILLED"}`), nil))
	}
	return errors.Join(failed...)
}

// Containers lists the processes that belong to containers.
func (c *Cluster) Containers(ctx context.Context) ([]int, error) {
	all, err := c.Daemons(ctx)
	if err != nil {
		return nil, err
	}
	pids := c.marked("")
	for _, d := range all {
		pids = slices.DeleteFunc(pids, func(pid int) bool { return pid == d.PID })
	}
	return pids, nil
}
