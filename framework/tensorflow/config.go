package tensorflow

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strconv"

	"github.com/muster-project/muster/plan"
)

// variable is the one that tf.distribute reads.
const variable = "TF_CONFIG"

// longest is what Linux takes as one NAME=value, with its end.
const longest = 128 << 10

// cluster is the servers of each kind of task, in the plan's order, which a
// map would lose.
type cluster []job

// job is one kind of task; its servers are in the order of their indices.
type job struct {
	kind    string
	servers []string
}

// MarshalJSON writes an object whose keys keep their order.
func (c cluster) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, j := range c {
		if i > 0 {
			b.WriteByte(',')
		}
		kind, err := json.Marshal(j.kind)
		if err != nil {
			return nil, err
		}
		servers, err := json.Marshal(j.servers)
		if err != nil {
			return nil, err
		}
		b.Write(kind)
		b.WriteByte(':')
		b.Write(servers)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// config is a task's TF_CONFIG.
//
// TensorFlow refuses to train with an evaluator in the cluster, and an
// evaluator refuses to run when it cannot find itself: so it is in its own
// description and in nobody else's.
func config(p *plan.Plan, r *plan.Roster, id plan.TaskID) (string, error) {
	var servers cluster
	index := -1
	for i := range p.Roles {
		role := &p.Roles[i]
		at := placeOf(role)
		if at == outside || at == evaluator && role.Name != id.Role {
			continue
		}
		if own := p.Role(id.Role); own.Stage != role.Stage && at == member {
			continue // over before the task began, or begins after its end
		}
		members := r.Of(role.Name)
		slices.SortFunc(members, func(a, b plan.Member) int { return a.Task.Index - b.Task.Index })
		j := job{kind: kindOf(role.Name)}
		for n, m := range members {
			port, ok := m.Ports[Port]
			if !ok {
				return "", fmt.Errorf("%s: port %q: missing in the roster of epoch %d", m.Task, Port, r.Epoch)
			}
			if m.Task == id {
				index = n
			}
			j.servers = append(j.servers, net.JoinHostPort(m.Host, strconv.Itoa(port)))
		}
		if len(j.servers) > 0 {
			servers = append(servers, j)
		}
	}
	type task struct {
		Type  string `json:"type"`
		Index int    `json:"index"`
	}
	b, err := json.Marshal(struct {
		Cluster cluster `json:"cluster"`
		Task    task    `json:"task"`
	}{servers, task{kindOf(id.Role), index}})
	if err != nil {
		return "", fmt.Errorf("%s: %s: %w", id, variable, err)
	}
	if len(variable)+1+len(b)+1 > longest {
		return "", fmt.Errorf("%s: %s: %d bytes for %d tasks: Linux takes %d in one variable",
			id, variable, len(b), len(r.Members), longest)
	}
	return string(b), nil
}

// kindOf is TensorFlow's word for a role.
func kindOf(role string) string {
	if role == "master" {
		return "chief"
	}
	return role
}
