package launcher

import (
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/muster-project/muster/spec"
	"github.com/muster-project/muster/spec/command"
)

// accelerate launch stays, once in each task, with counts and endpoint of the
// roster in place of the line's. Without a GPU it would start one process
// only: there the program runs in its place, and Accelerate reads the variables
// of framework/pytorch.
var accelerate = &launcher{name: "accelerate launch", framework: "pytorch", read: readAccelerate, table: table{options: []option{
	{names: "--num-processes", values: 1, use: take},
	{names: "--num-machines", values: 1, use: take},
	{names: "--max-restarts", values: 1, use: take},
	{names: "--config-file", values: 1, use: take},
	{names: "--cpu", use: take},
	{names: "--multi-gpu", use: take},
	{names: "--use-deepspeed", use: take},
	{names: "--mixed-precision", values: 1, use: take},
	{names: "--num-cpu-threads-per-process", values: 1, use: take},
	{names: "-m --module", use: take},
	{names: "--no-python", use: take},
	{names: "--machine-rank", values: 1, use: drop, why: whyRank},
	{names: "--main-process-ip --main-process-port", values: 1, use: drop, why: whyEndpoint},
	{names: "--gpu-ids", values: 1, use: drop, why: "muster chooses the devices"},
	{names: "--deepspeed-hostfile --deepspeed-exclusion-filter --deepspeed-inclusion-filter", values: 1, use: drop, why: whyHosts},
	{names: "--deepspeed-multinode-launcher", values: 1, use: drop, why: whyRemote},
	{names: "-h --help -q --quiet --tpu --ipex --dynamo-use-fullgraph --dynamo-use-dynamic --use-fsdp --use-megatron-lm --use-xpu"},
	{names: "--same-network --tpu-cluster --no-tpu-cluster --tpu-use-sudo --downcast-bf16 --debug --enable-cpu-affinity --use-parallelism-config"},
	{names: "--dynamo-backend --dynamo-mode -t --tee --role --rdzv-backend --rdzv-conf --monitor-interval --log-dir --vm --env", values: 1},
	{names: "--main-training-function --deepspeed-config-file --zero-stage --offload-optimizer-device --offload-param-device", values: 1},
	{names: "--offload-optimizer-nvme-path --offload-param-nvme-path --gradient-accumulation-steps --gradient-clipping", values: 1},
	{names: "--zero3-init-flag --zero3-save-16bit-model --deepspeed-moe-layer-cls-names", values: 1},
	{names: "--fsdp-offload-params --fsdp-min-num-params --fsdp-sharding-strategy --fsdp-auto-wrap-policy --fsdp-version", values: 1},
	{names: "--fsdp-transformer-layer-cls-to-wrap --fsdp-backward-prefetch-policy --fsdp-backward-prefetch --fsdp-state-dict-type", values: 1},
	{names: "--fsdp-forward-prefetch --fsdp-use-orig-params --fsdp-cpu-ram-efficient-loading --fsdp-sync-module-states", values: 1},
	{names: "--fsdp-activation-checkpointing --fsdp-reshard-after-forward", values: 1},
	{names: "--megatron-lm-tp-degree --megatron-lm-pp-degree --megatron-lm-num-micro-batches --megatron-lm-sequence-parallelism", values: 1},
	{names: "--megatron-lm-recompute-activations --megatron-lm-use-distributed-optimizer --megatron-lm-gradient-clipping", values: 1},
	{names: "--fp8-backend --fp8-format --aws-access-key-id --aws-secret-access-key", values: 1},
}}}

// roster are the options that every task fills from its own variables.
const roster = `--num_machines "$PET_NNODES" --num_processes "$MUSTER_WORLD_SIZE" --machine_rank "$PET_NODE_RANK"` +
	` --main_process_ip "$MASTER_ADDR" --main_process_port "$MASTER_PORT"`

// accelerated is what a line and its configuration say beyond counts.
type accelerated struct {
	cpu, multi, deepspeed, module, bare bool // cpu: says the file
	precision, threads                  string
}

func readAccelerate(r *reader) {
	var a accelerated
	for _, g := range r.given { // the file is weaker than every option
		if g.option != nil && g.first() == "--config-file" && len(g.values) == 1 && g.values[0].Known {
			r.configFile(g, &a)
		}
	}
	r.gone = a.cpu || slices.ContainsFunc(r.given, func(g *given) bool { return g.option != nil && g.first() == "--cpu" })
	r.taken(func(g *given) string { return r.accelerate(g, &a) })
	if r.Total == 0 {
		r.perGPU = a.multi || a.deepspeed
		r.remark("the line doesn't say how many processes: instances and procs of the role do")
	}
	r.Devices = a.multi || a.deepspeed
	if r.gone {
		r.withoutAccelerate(&a)
		return
	}
	r.extra = []command.Word{command.ShellWord(roster)}
	if a.deepspeed {
		r.extra = append(r.extra, command.Literals("--deepspeed_multinode_launcher", "standard")...)
	}
}

func (r *reader) accelerate(g *given, a *accelerated) string {
	stay := true
	why := ""
	switch g.first() {
	case "--num-processes":
		stay = false
		r.say("total", g)
		why = number(g, &r.Total)
	case "--num-machines":
		stay = false
		why = r.nodes(g)
	case "--max-restarts":
		stay = false
		why = r.restarts(g)
	case "--multi-gpu":
		a.multi = true
		r.say("gpus", g)
	case "--use-deepspeed":
		a.deepspeed = true
		r.say("gpus", g)
	case "--mixed-precision":
		a.precision = g.values[0].Text
	case "--num-cpu-threads-per-process":
		a.threads = g.values[0].Text
	case "-m":
		a.module = true
	case "--no-python":
		a.bare = true
	}
	g.stays = stay
	return why
}

// configFile reads what "accelerate config" wrote.
func (r *reader) configFile(g *given, a *accelerated) {
	if r.file == nil {
		return
	}
	data, err := r.file(g.values[0].Text)
	if err != nil {
		r.remark("%s: not read, so counts in it are not known: %v", g, err)
		return
	}
	var c struct {
		Machines  int    `yaml:"num_machines"`
		Processes int    `yaml:"num_processes"`
		Type      string `yaml:"distributed_type"`
		CPU       bool   `yaml:"use_cpu"`
		Precision string `yaml:"mixed_precision"`
		Threads   string `yaml:"num_cpu_threads_per_process"`
		IP        string `yaml:"main_process_ip"`
		Port      string `yaml:"main_process_port"`
	}
	if err := yaml.Unmarshal(data, &c); err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		r.remark("%s: not read, so counts in it are not known: %s", g, first)
		return
	}
	from := func(key string) string { return key + " in " + g.values[0].Text }
	if c.Machines > 0 {
		r.Instances = spec.Count{Min: c.Machines, Max: c.Machines}
		r.said["instances"] = from("num_machines")
	}
	if c.Processes > 0 {
		r.Total = c.Processes
		r.said["total"] = from("num_processes")
	}
	if c.IP != "" || c.Port != "" {
		r.Left = append(r.Left, Left{from("main_process_ip"), whyEndpoint})
	}
	a.cpu = a.cpu || c.CPU
	a.multi = slices.Contains([]string{"MULTI_GPU", "FSDP", "MEGATRON_LM"}, c.Type) && !c.CPU
	a.deepspeed = c.Type == "DEEPSPEED"
	if c.Type != "" {
		r.said["gpus"] = from("distributed_type")
	}
	a.precision, a.threads = c.Precision, c.Threads
}

// withoutAccelerate runs the program itself: Accelerate's own launcher would
// start a single process where there is no GPU.
func (r *reader) withoutAccelerate(a *accelerated) {
	r.Devices = false
	set := func(name, value string) { r.Env[name] = spec.EnvValue{Value: value} }
	set("ACCELERATE_USE_CPU", "true")
	if a.precision != "" {
		set("ACCELERATE_MIXED_PRECISION", a.precision)
	}
	if a.threads != "" {
		set("OMP_NUM_THREADS", a.threads)
	}
	for _, g := range r.given {
		if g.option != nil && g.use == keep {
			r.left(g, "only accelerate launch reads it, and with --cpu the program runs without it")
		}
	}
	var words []command.Word
	if !a.bare {
		words = append(words, r.interpreter())
		if a.module {
			words = append(words, command.Literal("-m"))
		}
	}
	r.program(words)
}
