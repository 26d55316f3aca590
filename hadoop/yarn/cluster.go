package yarn

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/muster-project/muster/hadoop/pb/ipcpb"
	"github.com/muster-project/muster/hadoop/pb/yarnpb"
	"github.com/muster-project/muster/hadoop/token"
)

// Nodes lists the nodes in the given states; without any, those that run.
func (r *RM) Nodes(ctx context.Context, states ...yarnpb.NodeState) ([]*yarnpb.NodeReport, error) {
	if len(states) == 0 {
		states = []yarnpb.NodeState{yarnpb.NodeState_NS_RUNNING}
	}
	resp, err := call[yarnpb.GetClusterNodesResponse](ctx, r, "getClusterNodes", &yarnpb.GetClusterNodesRequest{States: states})
	return resp.GetNodes(), err
}

// Metrics counts the nodes by state.
func (r *RM) Metrics(ctx context.Context) (*yarnpb.ClusterMetrics, error) {
	resp, err := call[yarnpb.GetClusterMetricsResponse](ctx, r, "getClusterMetrics", &yarnpb.GetClusterMetricsRequest{})
	return resp.GetMetrics(), err
}

// Queue tells of one queue, by its path or, where the scheduler allows it, its
// last part; with its children and theirs. An unknown one is an error of the
// identity Failure, or nil and no error, by version: both come as ErrNoQueue.
func (r *RM) Queue(ctx context.Context, name string) (*yarnpb.QueueInfo, error) {
	resp, err := call[yarnpb.GetQueueInfoResponse](ctx, r, "getQueueInfo", &yarnpb.GetQueueInfoRequest{
		Name: &name, Applications: proto.Bool(false), Children: proto.Bool(true), Recursive: proto.Bool(true),
	})
	return queueAnswer(name, resp.GetQueue(), err)
}

// QueueACLs tells what the caller may do, by queue.
func (r *RM) QueueACLs(ctx context.Context) (map[string][]yarnpb.QueueACL, error) {
	resp, err := call[yarnpb.GetQueueUserAclsResponse](ctx, r, "getQueueUserAcls", &yarnpb.GetQueueUserAclsRequest{})
	if err != nil {
		return nil, err
	}
	out := map[string][]yarnpb.QueueACL{}
	for _, q := range resp.GetQueues() {
		out[q.GetName()] = append(out[q.GetName()], q.GetAcls()...)
	}
	return out, nil
}

// NodeLabels lists the cluster's labels.
func (r *RM) NodeLabels(ctx context.Context) ([]*yarnpb.NodeLabel, error) {
	resp, err := call[yarnpb.GetClusterNodeLabelsResponse](ctx, r, "getClusterNodeLabels", &yarnpb.GetClusterNodeLabelsRequest{})
	if err != nil {
		return nil, err
	}
	labels := resp.GetLabels()
	if len(labels) == 0 {
		for _, n := range resp.GetNames() { // 2.x before exclusivity was told
			labels = append(labels, &yarnpb.NodeLabel{Name: proto.String(n)})
		}
	}
	return labels, nil
}

// LabelNodes tells which nodes carry each of the labels, or each of all labels.
func (r *RM) LabelNodes(ctx context.Context, labels ...string) (map[string][]string, error) {
	resp, err := call[yarnpb.GetLabelsToNodesResponse](ctx, r, "getLabelsToNodes", &yarnpb.GetLabelsToNodesRequest{Labels: labels})
	if err != nil {
		return nil, err
	}
	out := map[string][]string{}
	for _, l := range resp.GetLabels() {
		for _, n := range l.GetNodes() {
			out[l.GetLabel()] = append(out[l.GetLabel()], NodeAddr(n))
		}
	}
	return out, nil
}

// NodeAttributes tells the attributes of hosts, or of all hosts.
func (r *RM) NodeAttributes(ctx context.Context, hosts ...string) (map[string][]*yarnpb.NodeAttribute, error) {
	resp, err := call[yarnpb.GetNodesToAttributesResponse](ctx, r, "getNodesToAttributes", &yarnpb.GetNodesToAttributesRequest{Hosts: hosts})
	if err != nil {
		return nil, err
	}
	out := map[string][]*yarnpb.NodeAttribute{}
	for _, n := range resp.GetNodes() {
		out[n.GetHost()] = n.GetAttributes()
	}
	return out, nil
}

// ResourceTypes lists what can be asked for: memory-mb, vcores and others.
func (r *RM) ResourceTypes(ctx context.Context) ([]*yarnpb.ResourceTypeInfo, error) {
	resp, err := call[yarnpb.GetResourceTypeInfoResponse](ctx, r, "getResourceTypeInfo", &yarnpb.GetResourceTypeInfoRequest{})
	return resp.GetTypes(), err
}

// DelegationToken asks for a token that logs in where there is no Kerberos. On a
// secure cluster only a caller who logged in by Kerberos gets one. Its service is
// empty; set it.
func (r *RM) DelegationToken(ctx context.Context, renewer string) (*token.Token, error) {
	resp, err := call[ipcpb.GetDelegationTokenResponse](ctx, r, "getDelegationToken", &ipcpb.GetDelegationTokenRequest{Renewer: &renewer})
	return token.FromProto(resp.GetToken()), err
}

// CancelDelegationToken ends a token before its time.
func (r *RM) CancelDelegationToken(ctx context.Context, t *token.Token) error {
	_, err := call[ipcpb.CancelDelegationTokenResponse](ctx, r, "cancelDelegationToken", &ipcpb.CancelDelegationTokenRequest{Token: t.Proto()})
	return err
}
