package framework

import (
	"fmt"
	"net"
	"strconv"

	"github.com/muster-project/muster/plan"
)

// AddPorts gives a role a port for each process of a task, for frameworks whose
// processes each listen: name for the first, name-1, name-2 and so on for the
// others. First puts that of process 0 before the author's own, as in AddPort.
func AddPorts(r *plan.Role, name string, first bool) {
	AddPort(r, name, first)
	for i := 1; i < r.Procs; i++ {
		AddPort(r, portOf(name, i), false)
	}
}

func portOf(name string, i int) string {
	if i == 0 {
		return name
	}
	return name + "-" + strconv.Itoa(i)
}

// PortOf is the number of the port that AddPorts gave the i-th process of a
// task; of a port that the task has once it is process 0's.
func PortOf(m *plan.Member, name string, i int) (int, error) {
	number, ok := m.Ports[portOf(name, i)]
	if !ok {
		return 0, fmt.Errorf("%s: port %q: missing in the roster", m.Task, portOf(name, i))
	}
	return number, nil
}

// Endpoint is host:port of the i-th process of a task.
func Endpoint(m *plan.Member, name string, i int) (string, error) {
	number, err := PortOf(m, name, i)
	if err != nil {
		return "", err
	}
	return net.JoinHostPort(m.Host, strconv.Itoa(number)), nil
}

// Endpoints are those of every process of the members, in their order.
func Endpoints(members []*plan.Member, name string) ([]string, error) {
	var out []string
	for _, m := range members {
		for i := range m.Procs {
			endpoint, err := Endpoint(m, name, i)
			if err != nil {
				return nil, err
			}
			out = append(out, endpoint)
		}
	}
	return out, nil
}
