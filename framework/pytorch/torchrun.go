package pytorch

import (
	"slices"
	"strings"

	"github.com/muster-project/muster/framework"
	"github.com/muster-project/muster/plan"
	"github.com/muster-project/muster/spec"
)

// launchers are the programs that run once in a task and start its processes
// themselves. Each is found by its programs' names or by a module of Python's,
// and, where it has verbs, by the word behind.
var launchers = []struct {
	name, verb        string
	programs, modules []string
}{
	{name: "torchrun", programs: []string{"torchrun"}, modules: []string{"torch.distributed.run", "torch.distributed.launch"}},
	{name: "accelerate launch", verb: "launch", programs: []string{"accelerate"}},
	{name: "accelerate launch", programs: []string{"accelerate-launch"}, modules: []string{"accelerate.commands.launch"}},
}

// launcherOf names the launcher that a command starts; empty if it starts none.
func launcherOf(c spec.Command) string {
	for _, l := range launchers {
		args := framework.LauncherArgs(c, l.programs, l.modules)
		if args != nil && (l.verb == "" || len(args) > 0 && args[0] == l.verb) {
			return l.name
		}
	}
	return ""
}

// launcher are the defaults of torchrun's own options, as it takes them from
// variables. Accelerate's launcher is torchrun inside.
var launcher = []string{"PET_NNODES", "PET_NODE_RANK", "PET_NPROC_PER_NODE", "PET_MASTER_ADDR", "PET_MASTER_PORT"}

// The author's own, from the job file or from a line that was taken over: with
// a backend that is neither static nor c10d they lead to a server elsewhere.
const (
	rdzvBackend  = "PET_RDZV_BACKEND"
	rdzvConf     = "PET_RDZV_CONF"
	rdzvEndpoint = "PET_RDZV_ENDPOINT"
	rdzvID       = "PET_RDZV_ID"
)

// c10d gives torchrun's dynamic rendezvous its endpoint, rank 0's held port. It
// says who listens there: torchrun would guess it by host names, which differ
// from the addresses of tasks.
func c10d(l *plan.Launch, p *plan.Plan, m *plan.Member, endpoint string) {
	if l.Env[rdzvBackend] != "c10d" || l.Env[rdzvEndpoint] != "" {
		return
	}
	framework.Set(l, rdzvEndpoint, endpoint)
	if l.Env[rdzvID] == "" {
		framework.Set(l, rdzvID, p.ID)
	}
	host := "is_host=0"
	if m.GroupRank == 0 {
		host = "is_host=1"
	}
	written := strings.FieldsFunc(l.Env[rdzvConf], func(c rune) bool { return c == ',' })
	if !slices.ContainsFunc(written, func(s string) bool { return strings.HasPrefix(s, "is_host=") }) {
		written = append(written, host)
	}
	framework.Set(l, rdzvConf, strings.Join(written, ","))
}
