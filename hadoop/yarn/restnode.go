package yarn

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
)

// Node is a NodeManager as the ResourceManager sees it.
type Node struct {
	Addr       string // host:port of its RPC
	Host       string
	HTTP       string // host:port of its web service
	Rack       string
	State      string // RUNNING, LOST, …
	Version    string
	Health     string // why it is unhealthy
	Labels     []string
	Containers int
	Used       Resource
	Free       Resource
	Total      Resource
}

// Nodes lists the nodes in the given states (RUNNING, UNHEALTHY, …), or those
// that are in service.
func (r *REST) Nodes(ctx context.Context, states ...string) ([]Node, error) {
	q := url.Values{}
	if len(states) > 0 {
		q.Set("states", strings.Join(states, ","))
	}
	var raw struct {
		Nodes struct {
			Node list[rawNode] `json:"node"`
		} `json:"nodes"`
	}
	if _, err := r.rm(ctx, "/ws/v1/cluster/nodes", q, &raw); err != nil {
		return nil, err
	}
	var out []Node
	for _, n := range raw.Nodes.Node {
		out = append(out, n.node())
	}
	return out, nil
}

type rawNode struct {
	ID         string       `json:"id"`
	Host       string       `json:"nodeHostName"`
	HTTP       string       `json:"nodeHTTPAddress"`
	Rack       string       `json:"rack"`
	State      string       `json:"state"`
	Version    string       `json:"version"`
	Health     string       `json:"healthReport"`
	Labels     list[string] `json:"nodeLabels"`
	Containers number       `json:"numContainers"`
	UsedMB     number       `json:"usedMemoryMB"`
	FreeMB     number       `json:"availMemoryMB"`
	UsedCores  number       `json:"usedVirtualCores"`
	FreeCores  number       `json:"availableVirtualCores"`
	Used       *amount      `json:"usedResource"`
	Free       *amount      `json:"availableResource"`
	Total      *amount      `json:"totalResource"`
}

func (n rawNode) node() Node {
	out := Node{
		Addr: n.ID, Host: n.Host, HTTP: n.HTTP, Rack: n.Rack, State: n.State, Version: n.Version, Health: n.Health,
		Labels: n.Labels, Containers: n.Containers.int(), Used: n.Used.resource(), Free: n.Free.resource(), Total: n.Total.resource(),
	}
	if n.Used == nil { // before 3.0
		out.Used = Resource{Memory: n.UsedMB.int64(), VCores: n.UsedCores.int64()}
	}
	if n.Free == nil {
		out.Free = Resource{Memory: n.FreeMB.int64(), VCores: n.FreeCores.int64()}
	}
	if n.Total == nil {
		out.Total = out.Used.Add(out.Free)
	}
	return out
}

// Device is one device of a node that containers can have.
type Device struct {
	Index     int
	Minor     int         // of /dev/nvidia<minor>
	Container ContainerID // who has it; zero when it is free
}

// Devices lists a node's devices of one resource, such as GPU. The address is
// Node.HTTP. A node without that plug-in has none.
func (r *REST) Devices(ctx context.Context, nodeHTTP, resource string) ([]Device, error) {
	var raw struct {
		Total    list[rawDevice] `json:"totalGpuDevices"`
		Assigned list[rawDevice] `json:"assignedGpuDevices"`
	}
	_, err := r.get(ctx, r.scheme+"://"+nodeHTTP+"/ws/v1/node/resources/"+url.PathEscape(resource), nil, &raw)
	if s := status(err); s == http.StatusNotFound || s == http.StatusBadRequest || s == http.StatusInternalServerError {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []Device
	for _, d := range raw.Total {
		out = append(out, Device{Index: d.Index.int(), Minor: d.Minor.int()})
	}
	for _, a := range raw.Assigned {
		id, err := ParseContainer(a.Container)
		if err != nil {
			return nil, err
		}
		for i := range out {
			if out[i].Minor == a.Minor.int() {
				out[i].Container = id
			}
		}
	}
	return out, nil
}

type rawDevice struct {
	Index     number `json:"index"`
	Minor     number `json:"minorNumber"`
	Container string `json:"containerId"`
}

// status is the HTTP status that an error is about, or 0.
func status(err error) int {
	if r, ok := errors.AsType[*Refusal](err); ok {
		return r.Status
	}
	return 0
}
