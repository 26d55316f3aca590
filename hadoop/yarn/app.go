package yarn

import (
	"context"
	"net/url"
	"strings"
	"time"
)

// App is an application as the ResourceManager's web service tells of it: what
// is the same as in RM.Report is left out.
type App struct {
	ID          AppID
	User        string
	Name        string
	Queue       string
	State       string // RUNNING, …
	Final       string // UNDEFINED, SUCCEEDED, …
	Diagnostics string // also why it waits, while it is ACCEPTED
	Priority    int
	Tags        []string
	Launched    time.Time // zero for an unmanaged master

	Logs     string // URL of the master's logs
	AMNode   string // host:port of the web service of the master's node
	AMLabel  string // node label of the master's container
	Label    string // node label of its containers by default
	Logging  string // state of log aggregation
	Running  int    // containers
	Used     Resource
	Reserved Resource
	Pending  Resource // asked for, all partitions
	Asks     []Ask    // what stands unanswered; not told by lists

	QueueShare   float64 // of its queue's guaranteed part, 0..; 1 is all of it
	ClusterShare float64 // 0..1
	Preempted    int     // containers lost to preemption
}

// Ask is one request that the scheduler has not answered wholly.
type Ask struct {
	Priority int
	Class    int64  // allocation request id
	Where    string // "*", a rack or a host
	Label    string
	Size     Resource
	Count    int
}

// App tells of one application; a Refusal with status 404 when it is not known.
func (r *REST) App(ctx context.Context, id AppID) (*App, error) {
	var raw struct {
		App rawApp `json:"app"`
	}
	if _, err := r.rm(ctx, "/ws/v1/cluster/apps/"+id.String(), nil, &raw); err != nil {
		return nil, err
	}
	return raw.App.app()
}

// Apps lists applications that are not over, of one queue or of all; with what
// the filters of the web service take (states, user, applicationTypes, …).
func (r *REST) Apps(ctx context.Context, filter url.Values) ([]*App, error) {
	var raw struct {
		Apps struct {
			App list[rawApp] `json:"app"`
		} `json:"apps"`
	}
	if filter == nil {
		filter = url.Values{"states": {"NEW,NEW_SAVING,SUBMITTED,ACCEPTED,RUNNING"}}
	}
	if _, err := r.rm(ctx, "/ws/v1/cluster/apps", filter, &raw); err != nil {
		return nil, err
	}
	var out []*App
	for _, a := range raw.Apps.App {
		one, err := a.app()
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

type rawApp struct {
	ID          string       `json:"id"`
	User        string       `json:"user"`
	Name        text         `json:"name"`
	Queue       string       `json:"queue"`
	State       string       `json:"state"`
	Final       string       `json:"finalStatus"`
	Diagnostics text         `json:"diagnostics"`
	Priority    number       `json:"priority"`
	Tags        text         `json:"applicationTags"`
	Launched    number       `json:"launchTime"`
	Logs        string       `json:"amContainerLogs"`
	AMNode      string       `json:"amHostHttpAddress"`
	AMLabel     string       `json:"amNodeLabelExpression"`
	Label       string       `json:"appNodeLabelExpression"`
	Logging     string       `json:"logAggregationStatus"`
	Running     number       `json:"runningContainers"`
	MB          number       `json:"allocatedMB"`
	Cores       number       `json:"allocatedVCores"`
	ReservedMB  number       `json:"reservedMB"`
	ReservedC   number       `json:"reservedVCores"`
	QueueShare  number       `json:"queueUsagePercentage"`
	Share       number       `json:"clusterUsagePercentage"`
	Preempted   number       `json:"numNonAMContainerPreempted"`
	Asks        list[rawAsk] `json:"resourceRequests"`
	Info        struct {
		List list[rawUsage] `json:"resourceUsagesByPartition"`
	} `json:"resourceInfo"`
}

type rawAsk struct {
	Priority rawPriority `json:"priority"`
	Class    number      `json:"allocationRequestId"`
	Where    string      `json:"resourceName"`
	Label    string      `json:"nodeLabelExpression"`
	Size     *amount     `json:"capability"`
	Count    number      `json:"numContainers"`
}

func (a rawApp) app() (*App, error) {
	id, err := ParseApp(a.ID)
	if err != nil {
		return nil, err
	}
	out := &App{
		ID: id, User: a.User, Name: string(a.Name), Queue: a.Queue, State: a.State, Final: a.Final,
		Diagnostics: string(a.Diagnostics), Priority: a.Priority.int(), Launched: stamp(a.Launched),
		Logs: a.Logs, AMNode: a.AMNode, AMLabel: a.AMLabel, Label: a.Label, Logging: a.Logging, Running: max(a.Running.int(), 0),
		QueueShare: share(max(a.QueueShare, 0)), ClusterShare: share(max(a.Share, 0)), Preempted: a.Preempted.int(),
	}
	if a.Tags != "" {
		out.Tags = strings.Split(string(a.Tags), ",")
	}
	for _, u := range a.Info.List {
		out.Used, out.Reserved = out.Used.Add(u.Used.resource()), out.Reserved.Add(u.Reserved.resource())
		out.Pending = out.Pending.Add(u.Pending.resource())
	}
	if len(a.Info.List) == 0 { // -1 stands for nothing
		out.Used = Resource{Memory: max(a.MB.int64(), 0), VCores: max(a.Cores.int64(), 0)}
		out.Reserved = Resource{Memory: max(a.ReservedMB.int64(), 0), VCores: max(a.ReservedC.int64(), 0)}
	}
	for _, r := range a.Asks {
		out.Asks = append(out.Asks, Ask{
			Priority: int(r.Priority), Class: r.Class.int64(), Where: r.Where, Label: r.Label, Size: r.Size.resource(), Count: r.Count.int(),
		})
	}
	return out, nil
}
