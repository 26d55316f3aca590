package launcher

import (
	"slices"
	"strconv"
	"strings"

	"github.com/muster-project/muster/spec"
	"github.com/muster-project/muster/spec/command"
)

// deepspeed would start processes by ssh: the program runs in its place, by
// the variables of framework/pytorch and with the argument --local_rank that
// deepspeed gives it.
var deepspeed = &launcher{name: "deepspeed", framework: "pytorch", read: readDeepSpeed, table: table{short: true, options: []option{
	{names: "--num-nodes", values: 1, use: take},
	{names: "--num-gpus --num-accelerators", values: 1, use: take},
	{names: "--min-elastic-nodes", values: 1, use: take},
	{names: "--max-elastic-nodes", values: 1, use: take},
	{names: "-H --hostfile", values: 1, use: take},
	{names: "-i --include", values: 1, use: take},
	{names: "-e --exclude", values: 1, use: drop, why: "muster chooses hosts and devices"},
	{names: "--module", use: take},
	{names: "--no-python", use: take},
	{names: "--no-local-rank", use: take},
	{names: "--autotuning", values: 1, use: take},
	{names: "--master-addr --master-port", values: 1, use: drop, why: whyEndpoint},
	{names: "--node-rank", values: 1, use: drop, why: whyRank},
	{names: "--launcher --launcher-args --ssh-port --venv-script", values: 1, use: drop, why: whyRemote},
	{names: "--no-ssh-check --force-multi --no-ssh --save-pid --elastic-training", use: drop, why: whyRemote},
	{names: "--enable-each-rank-log", values: 1, use: drop, why: "muster keeps the output of each process"},
	{names: "--bind-cores-to-rank", use: drop, why: "cpus of the role says how many a task has"},
	{names: "--bind-core-list", values: 1, use: drop, why: "cpus of the role says how many a task has"},
	{names: "-h --help", use: keep},
}}}

func readDeepSpeed(r *reader) {
	var low, high int
	r.gone, r.perGPU = true, true
	var module, bare, quiet bool
	r.taken(func(g *given) string {
		switch g.first() {
		case "--module":
			module = true
		case "--no-python":
			bare = true
		case "--no-local-rank":
			quiet = true
		case "--min-elastic-nodes":
			r.say("instances", g)
			return number(g, &low)
		case "--max-elastic-nodes":
			r.say("instances", g)
			return number(g, &high)
		default:
			return r.deepspeed(g)
		}
		return ""
	})
	if high > 0 {
		r.Instances = spec.Count{Min: max(1, min(low, high)), Max: high}
	}
	if r.Procs == 0 {
		r.remark("the line doesn't say how many devices: gpus or procs of the role do")
	}
	r.deepspeedProgram(module, bare, quiet)
	for name, from := range map[string]string{"CROSS_RANK": "$NODE_RANK", "CROSS_SIZE": "$GROUP_WORLD_SIZE", "LOCAL_SIZE": "$LOCAL_WORLD_SIZE"} {
		r.Env[name] = spec.EnvValue{Value: from, Expand: true}
	}
}

// deepspeedProgram makes the line that each process executes.
func (r *reader) deepspeedProgram(module, bare, quiet bool) {
	var words []command.Word
	if !bare {
		words = append(words, r.interpreter(), command.Literal("-u"))
		if module {
			words = append(words, command.Literal("-m"))
		}
	}
	r.program(words)
	if len(r.tail) > 0 && !quiet {
		r.tail = slices.Insert(slices.Clone(r.tail), 1, command.ShellWord(`--local_rank="$LOCAL_RANK"`))
	}
}

func (r *reader) deepspeed(g *given) string {
	switch g.first() {
	case "--num-nodes":
		if strings.HasPrefix(g.values[0].Text, "-") {
			return "" // -1: as many as there are
		}
		return r.nodes(g)
	case "--num-gpus":
		if strings.HasPrefix(g.values[0].Text, "-") {
			return ""
		}
		r.say("procs", g)
		r.say("gpus", g)
		r.GPUs = 0
		why := number(g, &r.Procs)
		r.GPUs = r.Procs
		return why
	case "-H":
		why := r.hostsOf(g)
		r.GPUs = max(r.GPUs, r.Procs)
		return why
	case "-i":
		return r.include(g)
	case "--autotuning":
		r.alone = g.String() + ": DeepSpeed's tuner starts jobs of its own"
	}
	return ""
}

// include reads h1:0,1@h2:2,3.
func (r *reader) include(g *given) string {
	var list []host
	for part := range strings.SplitSeq(g.values[0].Text, "@") {
		name, slots, ok := strings.Cut(part, ":")
		h := host{name: name}
		if ok {
			for s := range strings.SplitSeq(slots, ",") {
				if _, err := strconv.Atoi(s); err != nil {
					return "not NAME:DEVICE,DEVICE@NAME…"
				}
				h.slots++
			}
		}
		list = addHost(list, h)
	}
	if why := r.hosts(g, list); why != "" {
		return why
	}
	r.GPUs = max(r.GPUs, r.Procs)
	r.left(g, "muster chooses hosts and devices")
	return ""
}
