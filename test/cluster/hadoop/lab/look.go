package lab

import (
	"context"
	"strconv"
)

// Application is what the ResourceManager tells of one.
type Application struct {
	ID         string `json:"id"`
	State      string `json:"state"`
	Final      string `json:"finalStatus"`
	Tags       string `json:"applicationTags"`
	Containers int    `json:"runningContainers"` // -1 once it has ended
	Started    int64  `json:"startedTime"`
}

// Applications lists those that the ResourceManager remembers.
func (c *Cluster) Applications(ctx context.Context) ([]Application, error) {
	var answer struct {
		Apps struct {
			App []Application `json:"app"`
		} `json:"apps"`
	}
	err := c.manager(ctx, "/ws/v1/cluster/apps", &answer)
	return answer.Apps.App, err
}

// NodeStates is what the ResourceManager thinks of each NodeManager, by its name:
// RUNNING, LOST and so on. One that it does not know is left out.
func (c *Cluster) NodeStates(ctx context.Context) (map[string]string, error) {
	var answer struct {
		Nodes struct {
			Node []struct {
				ID    string `json:"id"`
				State string `json:"state"`
			} `json:"node"`
		} `json:"nodes"`
	}
	if err := c.manager(ctx, "/ws/v1/cluster/nodes?states=RUNNING,LOST,UNHEALTHY,REBOOTED,SHUTDOWN", &answer); err != nil {
		return nil, err
	}
	out := map[string]string{}
	for n := range c.mode().Nodes {
		name := "nm" + strconv.Itoa(n+1)
		id, err := c.Node(name)
		if err != nil {
			return nil, err
		}
		for _, seen := range answer.Nodes.Node {
			if seen.ID == id && out[name] != "RUNNING" { // it is listed as lost under the same id, too, once it is back
				out[name] = seen.State
			}
		}
	}
	return out, nil
}

// Promote makes the first NameNode the active one where both of a pair were dead:
// nobody else does. It does nothing where there is one only.
func (c *Cluster) Promote(ctx context.Context) error {
	if len(c.nameNodes()) < 2 {
		return nil
	}
	return c.await(ctx, c.promote)
}
