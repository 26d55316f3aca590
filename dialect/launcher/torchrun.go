package launcher

import (
	"slices"
	"strconv"
	"strings"

	"github.com/muster-project/muster/spec"
)

// torchrun stays, once in each task: framework/pytorch gives it what was taken
// off its line by the variables that it takes its defaults from.
var torchrun = &launcher{name: "torchrun", framework: "pytorch", read: readTorchrun, table: table{short: true, options: []option{
	{names: "--nnodes", values: 1, use: take},
	{names: "--nproc-per-node", values: 1, use: take},
	{names: "--max-restarts", values: 1, use: take},
	{names: "--standalone", use: take},
	{names: "--rdzv-backend", values: 1, use: take},
	{names: "--rdzv-conf", values: 1, use: take},
	{names: "--rdzv-endpoint", values: 1, use: drop, why: whyEndpoint},
	{names: "--rdzv-id", values: 1, use: drop, why: whyID},
	{names: "--master-addr --master-port --local-addr", values: 1, use: drop, why: whyEndpoint},
	{names: "--node-rank", values: 1, use: drop, why: whyRank},
	{names: "-m --module --no-python --run-path --use-env -h --help", use: keep},
	{names: "--role --monitor-interval --start-method --log-dir -r --redirects -t --tee --local-ranks-filter --logs-specs", values: 1, use: keep},
	{names: "--event-log-handler --numa-binding --signals-to-handle --shutdown-timeout --duplicate-stdout-filters", values: 1, use: keep},
	{names: "--duplicate-stderr-filters --log-line-prefix-template", values: 1, use: keep},
	{names: "--virtual-local-rank", use: keep},
}}}

// meetElsewhere are the rendezvous backends that need a server of their own;
// its address is nothing that muster could give.
func meetElsewhere(backend string) bool {
	return !slices.Contains([]string{"static", "c10d", ""}, backend)
}

func readTorchrun(r *reader) {
	for _, g := range r.given {
		if g.option == nil || g.first() != "--rdzv-backend" || len(g.values) == 0 {
			continue
		}
		if v := g.values[0]; !v.Known || meetElsewhere(v.Text) {
			r.remark("%s: a server of your own, so that option and its address are left to torchrun", g)
			for _, o := range r.given {
				if o.option != nil && slices.Contains([]string{"--rdzv-backend", "--rdzv-endpoint", "--rdzv-id", "--rdzv-conf"}, o.first()) {
					o.stays = true
				}
			}
		}
	}
	r.taken(r.torchrun)
}

func (r *reader) torchrun(g *given) string {
	switch g.first() {
	case "--nnodes":
		return r.nodes(g)
	case "--nproc-per-node":
		if slices.Contains([]string{"gpu", "cuda", "xpu", "cpu", "auto"}, g.values[0].Text) {
			g.stays, r.perGPU = true, true
			r.remark("%s: torchrun counts what it finds; muster counts ranks by gpus or procs of the role", g)
			return ""
		}
		r.say("procs", g)
		return number(g, &r.Procs)
	case "--max-restarts":
		return r.restarts(g)
	case "--standalone":
		r.Instances = spec.Count{Min: 1, Max: 1}
		r.say("instances", g)
	case "--rdzv-backend":
		if g.values[0].Text == "c10d" {
			r.Env["PET_RDZV_BACKEND"] = spec.EnvValue{Value: "c10d"}
		}
	case "--rdzv-conf":
		r.Env["PET_RDZV_CONF"] = spec.EnvValue{Value: g.values[0].Text}
	}
	return ""
}

// nodes reads 2 or 1:4.
func (r *reader) nodes(g *given) string {
	low, high, ranged := strings.Cut(g.values[0].Text, ":")
	if !ranged {
		high = low
	}
	a, err := strconv.Atoi(low)
	b, err2 := strconv.Atoi(high)
	if err != nil || err2 != nil || a < 1 || b < a || b > 1<<20 {
		return "not a number of nodes, nor MIN:MAX"
	}
	r.Instances = spec.Count{Min: a, Max: b}
	return r.say("instances", g)
}

func (r *reader) restarts(g *given) string {
	n, err := strconv.Atoi(g.values[0].Text)
	if err != nil || n < 0 {
		return "not a number"
	}
	r.Restarts = &n
	return r.say("restarts", g)
}
