package yarn

import (
	"context"
	"errors"
	"strings"

	"github.com/muster-project/muster/hadoop/pb/ipcpb"
	"github.com/muster-project/muster/hadoop/pb/yarnpb"
)

// Outcome is what a NodeManager made of each container of one call.
type Outcome struct {
	Done   []ContainerID
	Failed map[ContainerID]error // *rpc.RemoteError each: errors.Is knows its class
}

// Start starts containers of one node. A container that runs already, because an
// earlier start's answer was lost, counts as done. The error is about the whole
// call: no token, no connection, a token that the node refuses.
func (n *Nodes) Start(ctx context.Context, addr string, reqs []*yarnpb.StartContainerRequest) (Outcome, error) {
	resp := &yarnpb.StartContainersResponse{}
	if err := n.call(ctx, addr, "startContainers", &yarnpb.StartContainersRequest{Requests: reqs}, resp); err != nil {
		return Outcome{}, err
	}
	out := outcome(resp.GetSucceeded(), resp.GetFailed())
	var again []ContainerID
	for id, err := range out.Failed {
		if startedBefore(err) {
			again = append(again, id)
		}
	}
	if len(again) == 0 {
		return out, nil
	}
	_, unknown, err := n.Statuses(ctx, addr, again)
	if err != nil {
		return out, err
	}
	for _, id := range again {
		if unknown[id] == nil {
			delete(out.Failed, id)
			out.Done = append(out.Done, id)
		}
	}
	return out, nil
}

// startedBefore knows the two wordings for a container that the node has already.
func startedBefore(err error) bool {
	m := message(err)
	return strings.Contains(m, "Attempt to relaunch the same container") || strings.Contains(m, "already is running on this node")
}

// Stop ends containers of one node: SIGTERM, and SIGKILL after the node's delay.
// It does not wait for their end, which comes with Allocate. One that the node
// does not know is done.
func (n *Nodes) Stop(ctx context.Context, addr string, ids []ContainerID) (Outcome, error) {
	resp := &yarnpb.StopContainersResponse{}
	if err := n.call(ctx, addr, "stopContainers", containerIDs(ids), resp); err != nil {
		return Outcome{}, err
	}
	out := outcome(resp.GetSucceeded(), resp.GetFailed())
	for id, err := range out.Failed {
		if strings.Contains(message(err), "is not handled by this NodeManager") {
			delete(out.Failed, id)
			out.Done = append(out.Done, id)
		}
	}
	return out, nil
}

// Statuses tells how containers of one node are; those that the node does not
// know have an error each.
func (n *Nodes) Statuses(ctx context.Context, addr string, ids []ContainerID) ([]*yarnpb.ContainerStatus, map[ContainerID]error, error) {
	resp := &yarnpb.GetContainerStatusesResponse{}
	if err := n.call(ctx, addr, "getContainerStatuses", containerIDs(ids), resp); err != nil {
		return nil, nil, err
	}
	return resp.GetStatuses(), outcome(nil, resp.GetFailed()).Failed, nil
}

// Localizations tells how far the resources of containers have come (3.3 on).
func (n *Nodes) Localizations(ctx context.Context, addr string, ids []ContainerID) ([]*yarnpb.ContainerLocalization, error) {
	resp := &yarnpb.GetLocalizationStatusesResponse{}
	err := n.call(ctx, addr, "getLocalizationStatuses", containerIDs(ids), resp)
	return resp.GetContainers(), err
}

// Update tells a node of containers that the ResourceManager resized: the tokens
// are those of AllocateResponse.updated.
func (n *Nodes) Update(ctx context.Context, addr string, tokens []*ipcpb.Token) (Outcome, error) {
	resp := &yarnpb.UpdateContainersResponse{}
	if err := n.call(ctx, addr, "updateContainer", &yarnpb.UpdateContainersRequest{Tokens: tokens}, resp); err != nil {
		return Outcome{}, err
	}
	return outcome(resp.GetSucceeded(), resp.GetFailed()), nil
}

// Signal sends a command to a container's process at once.
func (n *Nodes) Signal(ctx context.Context, addr string, id ContainerID, c yarnpb.SignalCommand) error {
	req := &yarnpb.SignalContainerRequest{ContainerId: id.Proto(), Command: &c}
	return n.call(ctx, addr, "signalToContainer", req, &yarnpb.SignalContainerResponse{})
}

func containerIDs(ids []ContainerID) *yarnpb.ContainerIds {
	p := &yarnpb.ContainerIds{}
	for _, id := range ids {
		p.Ids = append(p.Ids, id.Proto())
	}
	return p
}

func outcome(done []*yarnpb.ContainerId, failed []*yarnpb.ContainerFailure) Outcome {
	o := Outcome{Failed: map[ContainerID]error{}}
	for _, id := range done {
		o.Done = append(o.Done, ContainerOf(id))
	}
	for _, f := range failed {
		o.Failed[ContainerOf(f.GetContainerId())] = failure(f.GetException())
	}
	return o
}

// ErrNoToken: the ResourceManager has sent no token for that node to this
// attempt, or its answer was lost.
var ErrNoToken = errors.New("no NodeManager token")
