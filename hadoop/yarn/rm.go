package yarn

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/muster-project/muster/hadoop/conf"
	"github.com/muster-project/muster/hadoop/pb/yarnpb"
	"github.com/muster-project/muster/hadoop/rpc"
	"github.com/muster-project/muster/hadoop/sasl"
)

const clientProtocol = "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB"

// Auth says how to log in; it is asked at each connection.
type Auth func(context.Context) (rpc.Auth, error)

// RM is the ResourceManager as a client sees it. Its methods may be called by
// many at once and may be repeated: submit and kill name the application.
type RM struct{ client *rpc.Client }

// NewRM takes the addresses out of the configuration; nothing is called yet. A
// call is repeated for a minute while no ResourceManager can be reached.
func NewRM(c *conf.Conf, auth Auth) (*RM, error) {
	servers, err := c.ResourceManagers(conf.RMClient)
	if err != nil {
		return nil, err
	}
	least, err := Protection(c)
	if err != nil {
		return nil, err
	}
	return &RM{client: rpc.New(rpc.Config{Addresses: conf.Addresses(servers), Protocol: clientProtocol, Auth: auth, Least: least})}, nil
}

// Protection is the weakest one that a configuration lets pass (hadoop.rpc.protection).
func Protection(c *conf.Conf) (sasl.Protection, error) {
	return sasl.ParseProtection(c.String("hadoop.rpc.protection", ""))
}

// Close ends the connection.
func (r *RM) Close() error { return r.client.Close() }

// call runs one method; its error says which one failed, and where.
func call[T any, M interface {
	*T
	proto.Message
}](ctx context.Context, r *RM, method string, req proto.Message) (M, error) {
	resp := M(new(T))
	if err := r.client.Call(ctx, method, req, resp); err != nil {
		return nil, err
	}
	return resp, nil
}

// NewApplication reserves an id and tells the largest container that the cluster gives.
func (r *RM) NewApplication(ctx context.Context) (AppID, Resource, error) {
	resp, err := call[yarnpb.GetNewApplicationResponse](ctx, r, "getNewApplication", &yarnpb.GetNewApplicationRequest{})
	if err != nil {
		return AppID{}, Resource{}, err
	}
	return AppOf(resp.GetApplicationId()), ResourceOf(resp.GetMaximum()), nil
}

// Submit hands an application in. The same id may be handed in again: the
// ResourceManager keeps the first. Refusals that need other services (a token
// that cannot be renewed) come later, as a failed application.
func (r *RM) Submit(ctx context.Context, s *yarnpb.ApplicationSubmissionContext) error {
	_, err := call[yarnpb.SubmitApplicationResponse](ctx, r, "submitApplication", &yarnpb.SubmitApplicationRequest{Context: s})
	return err
}

// Report tells how an application is. NoSuchApplication is the identity of the
// error when the ResourceManager does not know it, or no longer.
func (r *RM) Report(ctx context.Context, id AppID) (*yarnpb.ApplicationReport, error) {
	resp, err := call[yarnpb.GetApplicationReportResponse](ctx, r, "getApplicationReport", &yarnpb.GetApplicationReportRequest{ApplicationId: id.Proto()})
	return resp.GetReport(), err
}

// Filter says which applications are wanted; what is empty does not restrict.
type Filter struct {
	Types  []string
	States []yarnpb.AppState
	Users  []string
	Queues []string // as the configuration spells them, "default" or "root.default"
	Tags   []string // any of them
	Name   string   // 3.4 on; older clusters ignore it
	Limit  int64
}

// Applications lists applications.
func (r *RM) Applications(ctx context.Context, f Filter) ([]*yarnpb.ApplicationReport, error) {
	req := &yarnpb.GetApplicationsRequest{Types: f.Types, States: f.States, Users: f.Users, Queues: f.Queues, Tags: f.Tags}
	if f.Name != "" {
		req.Name = &f.Name
	}
	if f.Limit > 0 {
		req.Limit = &f.Limit
	}
	resp, err := call[yarnpb.GetApplicationsResponse](ctx, r, "getApplications", req)
	return resp.GetApplications(), err
}

// Kill ends an application and returns when it has ended; one that ended before
// is no error. The diagnostics say who did it and why.
func (r *RM) Kill(ctx context.Context, id AppID, diagnostics string) error {
	req := &yarnpb.KillApplicationRequest{ApplicationId: id.Proto(), Diagnostics: proto.String(diagnostics)}
	wait := patience{next: 50 * time.Millisecond, most: time.Second}
	for {
		resp, err := call[yarnpb.KillApplicationResponse](ctx, r, "forceKillApplication", req)
		if err != nil || resp.GetIsKillCompleted() {
			return err
		}
		if err := wait.pause(ctx); err != nil {
			return fmt.Errorf("%s: not killed yet: %w", id, err)
		}
	}
}

// FailAttempt ends an attempt as failed; the next one starts if one is left.
func (r *RM) FailAttempt(ctx context.Context, id AttemptID) error {
	_, err := call[yarnpb.FailAttemptResponse](ctx, r, "failApplicationAttempt", &yarnpb.FailAttemptRequest{AttemptId: id.Proto()})
	return err
}

// Attempts lists the runs of an application's master.
func (r *RM) Attempts(ctx context.Context, id AppID) ([]*yarnpb.AttemptReport, error) {
	resp, err := call[yarnpb.GetAttemptsResponse](ctx, r, "getApplicationAttempts", &yarnpb.GetAttemptsRequest{ApplicationId: id.Proto()})
	return resp.GetAttempts(), err
}

// Attempt tells of one run.
func (r *RM) Attempt(ctx context.Context, id AttemptID) (*yarnpb.AttemptReport, error) {
	resp, err := call[yarnpb.GetAttemptResponse](ctx, r, "getApplicationAttemptReport", &yarnpb.GetAttemptRequest{AttemptId: id.Proto()})
	return resp.GetReport(), err
}

// Containers lists an attempt's containers, its master's too; the
// ResourceManager forgets those that ended.
func (r *RM) Containers(ctx context.Context, id AttemptID) ([]*yarnpb.ContainerReport, error) {
	resp, err := call[yarnpb.GetContainersResponse](ctx, r, "getContainers", &yarnpb.GetContainersRequest{AttemptId: id.Proto()})
	return resp.GetContainers(), err
}

// Container tells of one container.
func (r *RM) Container(ctx context.Context, id ContainerID) (*yarnpb.ContainerReport, error) {
	resp, err := call[yarnpb.GetContainerResponse](ctx, r, "getContainerReport", &yarnpb.GetContainerRequest{ContainerId: id.Proto()})
	return resp.GetReport(), err
}

// Signal sends a command to a container's process by way of its NodeManager: it
// arrives at the next heartbeats. Any holder of the modify right may do so.
func (r *RM) Signal(ctx context.Context, id ContainerID, c yarnpb.SignalCommand) error {
	_, err := call[yarnpb.SignalContainerResponse](ctx, r, "signalToContainer", &yarnpb.SignalContainerRequest{ContainerId: id.Proto(), Command: &c})
	return err
}

// Move puts an application into another queue.
func (r *RM) Move(ctx context.Context, id AppID, queue string) error {
	_, err := call[yarnpb.MoveApplicationResponse](ctx, r, "moveApplicationAcrossQueues", &yarnpb.MoveApplicationRequest{ApplicationId: id.Proto(), Queue: &queue})
	return err
}

// UpdatePriority changes an application's priority and tells what it became: the
// cluster has a highest one.
func (r *RM) UpdatePriority(ctx context.Context, id AppID, priority int32) (int32, error) {
	resp, err := call[yarnpb.UpdatePriorityResponse](ctx, r, "updateApplicationPriority",
		&yarnpb.UpdatePriorityRequest{ApplicationId: id.Proto(), Priority: PriorityOf(priority)})
	return resp.GetPriority().GetPriority(), err
}

// expiry is the ISO 8601 form that timeouts travel in.
const expiry = "2006-01-02T15:04:05.000Z0700"

// UpdateLifetime sets when the ResourceManager kills an application that still runs.
func (r *RM) UpdateLifetime(ctx context.Context, id AppID, end time.Time) error {
	_, err := call[yarnpb.UpdateTimeoutsResponse](ctx, r, "updateApplicationTimeouts", &yarnpb.UpdateTimeoutsRequest{
		ApplicationId: id.Proto(),
		Timeouts:      []*yarnpb.TimeoutUpdate{{Type: yarnpb.TimeoutType_LIFETIME.Enum(), ExpireTime: proto.String(end.UTC().Format(expiry))}},
	})
	return err
}
