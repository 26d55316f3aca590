package paddle

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-project/muster/framework"
	"github.com/muster-project/muster/plan"
)

// names are the variables that are ours alone.
var names = []string{
	"PADDLE_MASTER", "PADDLE_TRAINERS_NUM", "PADDLE_TRAINER_ENDPOINTS", "PADDLE_GLOBAL_SIZE", "PADDLE_LOCAL_SIZE", "PADDLE_NNODES",
	"PADDLE_TRAINER_ID", "PADDLE_CURRENT_ENDPOINT", "PADDLE_GLOBAL_RANK", "PADDLE_LOCAL_RANK", "PADDLE_RANK_IN_NODE",
	"FLAGS_selected_gpus",
	"TRAINING_ROLE", "PADDLE_ROLE", "PADDLE_PSERVERS_IP_PORT_LIST", "PADDLE_PORT", "POD_IP", "PADDLE_GLOO_RENDEZVOUS", "PADDLE_GLOO_HTTP_ENDPOINT",
	"PADDLE_RANK", "PADDLE_NPROC_PER_NODE", "PADDLE_JOB_ID",
}

func reserved(name string) bool { return slices.Contains(names, name) }

// longest is what Linux takes as one NAME=value, with its end.
const longest = 128 << 10

// distributed adds the variables of a trainer or server.
func distributed(l *plan.Launch, p *plan.Plan, r *plan.Roster, m *plan.Member) error {
	role := p.Role(m.Task.Role)
	if launched(role) {
		return underLauncher(l, p, r, m)
	}
	c, err := castOf(p, r, role.Stage)
	if err != nil {
		return err
	}
	framework.SetDefault(l, "GLOO_SOCKET_IFNAME", "${muster.iface}")
	framework.Set(l, "POD_IP", m.Host)
	framework.Set(l, "PADDLE_TRAINERS_NUM", strconv.Itoa(len(c.trainers)))
	if err := setList(l, "PADDLE_TRAINER_ENDPOINTS", c.trainers); err != nil {
		return fmt.Errorf("%s: %w", m.Task, err)
	}
	if len(c.servers) > 0 {
		return c.served(l, m, role)
	}
	return collective(l, p, r, m)
}

// cast is the endpoints of those who take part in a stage.
type cast struct {
	trainers, servers []string
	gloo              string // where they meet when there are servers
}

// castOf lists trainers in the order of their ranks, servers in that of the
// plan and their index.
func castOf(p *plan.Plan, r *plan.Roster, stage int) (cast, error) {
	var trainers, servers []*plan.Member
	for i := range r.Members {
		m := &r.Members[i]
		role := p.Role(m.Task.Role)
		if role == nil || role.Stage != stage {
			continue
		}
		switch partOf(role) {
		case trainer:
			trainers = append(trainers, m)
		case server:
			servers = append(servers, m)
		}
	}
	place := func(m *plan.Member) int {
		return slices.IndexFunc(p.Roles, func(r plan.Role) bool { return r.Name == m.Task.Role })
	}
	slices.SortFunc(servers, func(a, b *plan.Member) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a.Task.Index, b.Task.Index))
	})
	var c cast
	var err error
	if c.trainers, err = framework.Endpoints(trainers, Port); err != nil {
		return cast{}, err
	}
	if c.servers, err = framework.Endpoints(servers, Port); err != nil || len(servers) == 0 {
		return c, err
	}
	c.gloo, err = framework.Endpoint(servers[0], Gloo, 0)
	return c, err
}

// setList sets a variable that grows with the job, as far as Linux takes it.
func setList(l *plan.Launch, name string, endpoints []string) error {
	value := strings.Join(endpoints, ",")
	if size := len(name) + len(value) + 2; size > longest {
		return fmt.Errorf("%s: %d bytes for %d processes: Linux takes %d in one variable", name, size, len(endpoints), longest)
	}
	framework.Set(l, name, value)
	return nil
}

// collective adds what init_parallel_env reads.
func collective(l *plan.Launch, p *plan.Plan, r *plan.Roster, m *plan.Member) error {
	role := p.Role(m.Task.Role)
	master, err := masterOf(p, r, m)
	if err != nil {
		return err
	}
	framework.Set(l, "PADDLE_MASTER", master)
	framework.Set(l, "PADDLE_GLOBAL_SIZE", l.Env["PADDLE_TRAINERS_NUM"])
	framework.Set(l, "PADDLE_LOCAL_SIZE", strconv.Itoa(m.Procs))
	framework.Set(l, "PADDLE_NNODES", strconv.Itoa(r.Peerage(p, m.Task).Groups))
	if !devices(p, role.Stage) {
		framework.SetDefault(l, "PADDLE_DISTRI_BACKEND", "gloo")
	}
	for i := range m.Procs {
		own, err := framework.Endpoint(m, Port, i)
		if err != nil {
			return err
		}
		rank := strconv.Itoa(m.Rank + i)
		framework.SetProc(l, i, "PADDLE_TRAINER_ID", rank)
		framework.SetProc(l, i, "PADDLE_GLOBAL_RANK", rank)
		framework.SetProc(l, i, "PADDLE_LOCAL_RANK", strconv.Itoa(i))
		framework.SetProc(l, i, "PADDLE_RANK_IN_NODE", strconv.Itoa(i))
		framework.SetProc(l, i, "PADDLE_CURRENT_ENDPOINT", own)
		selectDevices(l, role, m, i)
	}
	return nil
}

func masterOf(p *plan.Plan, r *plan.Roster, m *plan.Member) (string, error) {
	master := framework.Master(p, r, m.Task)
	if master == nil {
		return "", fmt.Errorf("%s: nobody has rank 0", m.Task)
	}
	return framework.Endpoint(master, Master, 0)
}

// devices says that every trainer of a stage has devices: all must use the same
// means to talk to each other.
func devices(p *plan.Plan, stage int) bool {
	return !slices.ContainsFunc(p.Roles, func(r plan.Role) bool {
		return r.Stage == stage && partOf(&r) == trainer && r.Resources.GPUs == 0
	})
}

// selectDevices tells a process its devices, counted among those its task sees.
func selectDevices(l *plan.Launch, role *plan.Role, m *plan.Member, i int) {
	var ids []string
	for _, id := range framework.Devices(role, m, i) {
		ids = append(ids, strconv.Itoa(id))
	}
	if len(ids) > 0 {
		framework.SetProc(l, i, "FLAGS_selected_gpus", strings.Join(ids, ","))
	}
}

// served adds what fleet.init() reads where there are parameter servers.
func (c cast) served(l *plan.Launch, m *plan.Member, role *plan.Role) error {
	if err := setList(l, "PADDLE_PSERVERS_IP_PORT_LIST", c.servers); err != nil {
		return fmt.Errorf("%s: %w", m.Task, err)
	}
	word := "TRAINER"
	if partOf(role) == server {
		word = "PSERVER"
	}
	framework.Set(l, "TRAINING_ROLE", word)
	framework.Set(l, "PADDLE_ROLE", word)
	framework.Set(l, "PADDLE_GLOO_RENDEZVOUS", "3") // by HTTP
	framework.Set(l, "PADDLE_GLOO_HTTP_ENDPOINT", c.gloo)
	framework.SetDefault(l, "PADDLE_WITH_GLOO", "1")
	for i := range m.Procs {
		number, err := framework.PortOf(m, Port, i)
		if err != nil {
			return err
		}
		framework.SetProc(l, i, "PADDLE_PORT", strconv.Itoa(number))
		if word == "TRAINER" {
			framework.SetProc(l, i, "PADDLE_TRAINER_ID", strconv.Itoa(m.Rank+i))
			selectDevices(l, role, m, i)
		}
	}
	return nil
}

// underLauncher leaves one process, paddle.distributed.launch, and gives it the
// defaults of its options. What it passes on to all of its processes alike, and
// so wrong for all but one, is left out.
func underLauncher(l *plan.Launch, p *plan.Plan, r *plan.Roster, m *plan.Member) error {
	master, err := masterOf(p, r, m)
	if err != nil {
		return err
	}
	l.Procs = l.Procs[:1]
	if m.Procs > 1 {
		for _, name := range []string{"MUSTER_RANK", "MUSTER_LOCAL_RANK", "MUSTER_PROC"} {
			delete(l.Procs[0], name)
		}
	}
	for _, name := range names {
		delete(l.Env, name)
		delete(l.Expand, name)
	}
	framework.SetDefault(l, "GLOO_SOCKET_IFNAME", "${muster.iface}")
	framework.Set(l, "POD_IP", m.Host)
	framework.Set(l, "PADDLE_MASTER", master)
	framework.Set(l, "PADDLE_NNODES", strconv.Itoa(r.Peerage(p, m.Task).Groups))
	framework.Set(l, "PADDLE_RANK", strconv.Itoa(m.GroupRank))
	framework.Set(l, "PADDLE_NPROC_PER_NODE", strconv.Itoa(m.Procs))
	framework.Set(l, "PADDLE_JOB_ID", p.ID)
	if framework.LauncherOption(launcherArgs(p.Role(m.Task.Role).Command), "--log-dir") == "" {
		// Tasks may share their work directory: each would write to log/workerlog.0
		// there, and show there what the others wrote.
		framework.SetDefault(l, "PADDLE_LOG_DIR", "${muster.dir}/log")
	}
	if p.Role(m.Task.Role).Resources.GPUs == 0 && len(m.Devices) == 0 {
		// Devices that are not the task's are hidden from it by an empty
		// CUDA_VISIBLE_DEVICES, which the launcher takes for one device without
		// a name. It looks at this first, and then for itself.
		framework.SetDefault(l, "XPU_VISIBLE_DEVICES", "all")
	}
	return nil
}
