package lab

import (
	"context"
	"fmt"
	"time"

	"github.com/muster-project/muster/hadoop/pb/hdfspb"
	"github.com/muster-project/muster/hadoop/rpc"
	"github.com/muster-project/muster/hadoop/sasl"
)

// States of a NameNode that has a second one.
const (
	stateActive  = "active"
	stateStandby = "standby"
)

// transitions are the methods of HAServiceProtocol.
var transitions = map[string]string{stateActive: "transitionToActive", stateStandby: "transitionToStandby"}

// transition tells a NameNode what to be, in its own name. The command of Hadoop
// for this costs seconds, and asks first whether the other one agrees: a dead one
// never does.
func (c *Cluster) transition(ctx context.Context, name, to string) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	login, err := c.login("nn/localhost")
	if err != nil {
		return err
	}
	defer login.Close()
	client := rpc.New(rpc.Config{
		Addresses: []string{address(c.Base, port(name, nnRPC))},
		Protocol:  "org.apache.hadoop.ha.HAServiceProtocol",
		Auth: func(context.Context) (rpc.Auth, error) {
			return rpc.Auth{Kerberos: login.Service(principal("nn"))}, nil
		},
		Least: sasl.Privacy,
	})
	defer client.Close()
	request := &hdfspb.TransitionRequest{Change: &hdfspb.StateChange{Source: hdfspb.StateChange_BY_USER.Enum()}}
	if err := client.Call(ctx, transitions[to], request, &hdfspb.TransitionResponse{}); err != nil {
		return fmt.Errorf("%s: %s: %w", name, transitions[to], err)
	}
	return nil
}
