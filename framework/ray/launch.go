package ray

import (
	_ "embed" // of the script
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/muster-project/muster/framework"
	"github.com/muster-project/muster/plan"
)

// script is what a task runs; its arguments are ours.
//
//go:embed ray.sh
var script []byte

const scriptFile = "ray.sh"

// address is the variable by which ray.init() and "ray" find the cluster.
const address = "RAY_ADDRESS"

// Launch gives a task "ray start" and, to the head, the driver's command.
func (Framework) Launch(p *plan.Plan, r *plan.Roster, id plan.TaskID) (plan.Launch, error) {
	l, m, err := framework.Common(p, r, id)
	if err != nil {
		return plan.Launch{}, err
	}
	head := r.Member(plan.TaskID{Role: Head})
	if head == nil {
		return plan.Launch{}, fmt.Errorf("%s: there is no head in epoch %d", id, r.Epoch)
	}
	gcs, err := framework.Endpoint(head, "gcs", 0)
	if err != nil {
		return plan.Launch{}, err
	}
	framework.Set(&l, address, gcs)
	role := p.Role(id.Role)
	if !role.Counted {
		return l, framework.AddRoster(&l, p, r, id, framework.ScopeJob)
	}
	l.Argv, err = start(role, m, gcs)
	if err != nil {
		return plan.Launch{}, err
	}
	l.Files[scriptFile] = script
	if id.Role == Head {
		publish(&l, p, m)
	}
	return l, framework.AddRoster(&l, p, r, id, framework.ScopeJob)
}

// start is the line of a node: ray.sh, the words of "ray start", the driver.
func start(role *plan.Role, m *plan.Member, gcs string) ([]string, error) {
	part := "worker"
	flags := []string{"--address=" + gcs}
	ports := []struct{ flag, port string }{
		{"--node-manager-port", "node"}, {"--object-manager-port", "object"}, {"--dashboard-agent-grpc-port", "agent"},
		{"--dashboard-agent-listen-port", "agent-http"}, {"--runtime-env-agent-port", "runtime-env"}, {"--metrics-export-port", "metrics"},
	}
	if role.Name == Head {
		part = "head"
		flags = []string{"--disable-usage-stats", "--dashboard-host=" + m.Host}
		ports = append(ports, []struct{ flag, port string }{
			{"--port", "gcs"}, {"--dashboard-port", "dashboard"}, {"--ray-client-server-port", "client"},
		}...)
	}
	flags = append(flags, "--node-ip-address="+m.Host)
	for _, p := range ports {
		number, err := framework.PortOf(m, p.port, 0)
		if err != nil {
			return nil, err
		}
		flags = append(flags, p.flag+"="+strconv.Itoa(number))
	}
	argv := append([]string{"bash", "${muster.dir}/" + scriptFile, part}, append(flags, resources(role, m)...)...)
	return append(append(argv, "--"), framework.Argv(role.Command)...), nil
}

// leastStore is the smallest object store that Ray starts with.
const leastStore = 75 << 20

// resources are what Ray may give to tasks on a node: what the task was
// granted. Of its memory three tenths are the object store's, as when Ray
// chooses for itself on a machine of its own.
func resources(role *plan.Role, m *plan.Member) []string {
	gpus := role.Resources.GPUs
	if len(m.Devices) > 0 {
		gpus = len(m.Devices)
	}
	out := []string{
		"--num-cpus=" + strconv.Itoa(max(1, int(role.Resources.CPUs))),
		"--num-gpus=" + strconv.Itoa(gpus),
	}
	if memory := role.Resources.Memory; memory > 0 {
		store := max(leastStore, memory*3/10)
		out = append(out, fmt.Sprintf("--object-store-memory=%d", store), fmt.Sprintf("--memory=%d", max(1, memory-store)))
	}
	return out
}

// publish tells where the dashboard and the client's server are.
func publish(l *plan.Launch, p *plan.Plan, m *plan.Member) {
	at := func(port string) string { return net.JoinHostPort(m.Host, strconv.Itoa(m.Ports[port])) }
	l.Publish = map[string]string{"ray": "ray://" + at("client")}
	more := p.Role(Head).Env["RAY_HEAD_ARGS"].Value + p.Env["RAY_HEAD_ARGS"].Value
	if !strings.Contains(strings.ReplaceAll(more, " ", "="), "--include-dashboard=false") {
		l.Publish["dashboard"] = "http://" + at("dashboard")
	}
}
