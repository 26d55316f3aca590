package launcher

import (
	"path"
	"strconv"
	"strings"

	"github.com/muster-project/muster/spec"
	"github.com/muster-project/muster/spec/command"
)

// horovodrun would start processes by ssh: the program runs in its place, and
// framework/horovod gives each process what horovodrun would have.
var horovodrun = &launcher{name: "horovodrun", framework: "horovod", read: readHorovod, table: table{short: true, options: []option{
	{names: "-np --num-proc", values: 1, use: take},
	{names: "-H --hosts", values: 1, use: take},
	{names: "-hostfile --hostfile", values: 1, use: take},
	{names: "--min-np --min-num-proc", values: 1, use: take},
	{names: "--max-np --max-num-proc", values: 1, use: take},
	{names: "--slots-per-host", values: 1, use: take},
	{names: "--network-interfaces --network-interface", values: 1, use: take},
	{names: "--reset-limit", values: 1, use: take},
	{names: "--gloo", use: take},
	{names: "--check-build -cb -v --version -h --help", use: take},
	{names: "--mpi --jsrun", use: drop, why: "processes meet over gloo"},
	{names: "--mpi-args --binding-args", values: 1, use: drop, why: "processes meet over gloo"},
	{names: "-p --ssh-port -i --ssh-identity-file", values: 1, use: drop, why: whyRemote},
	{names: "--start-timeout --elastic-timeout", values: 1, use: drop, why: "timeout.start of the job bounds the start"},
	{names: "--disable-cache", use: drop, why: whyRemote},
	{names: "--output-filename", values: 1, use: drop, why: "muster keeps the output of each process"},
	{names: "-prefix-timestamp --prefix-output-with-timestamp", use: drop, why: "muster keeps the output of each process"},
	{names: "--host-discovery-script", values: 1, use: drop, why: whyHosts},
	{names: "--blacklist-cooldown-range", values: 2, use: drop, why: whyHosts},
	{names: "--config-file", values: 1, use: drop, why: "not read: write its settings as options, or as HOROVOD_ variables in env"},
	{names: "--verbose", use: take},
	{names: "--fusion-threshold-mb", values: 1, use: take},
	{names: "--cycle-time-ms --cache-capacity --autotune-log-file --autotune-warmup-samples --autotune-steps-per-sample", values: 1, use: take},
	{names: "--autotune-bayes-opt-max-samples --autotune-gaussian-process-noise --timeline-filename", values: 1, use: take},
	{names: "--stall-check-warning-time-seconds --stall-check-shutdown-time-seconds --num-nccl-streams", values: 1, use: take},
	{names: "--thread-affinity --gloo-timeout-seconds --log-level", values: 1, use: take},
	{names: "--hierarchical-allreduce --no-hierarchical-allreduce --hierarchical-allgather --no-hierarchical-allgather", use: take},
	{names: "--autotune --no-autotune --timeline-mark-cycles --no-timeline-mark-cycles --no-stall-check --stall-check", use: take},
	{names: "--mpi-threads-disable --no-mpi-threads-disable --tcp", use: take},
	{names: "--log-with-timestamp --log-without-timestamp --log-hide-timestamp --no-log-hide-timestamp", use: take},
}}}

// horovodVariable are the options that Horovod's library reads as variables.
var horovodVariable = map[string]struct{ name, value string }{
	"cycle-time-ms":                     {"HOROVOD_CYCLE_TIME", ""},
	"cache-capacity":                    {"HOROVOD_CACHE_CAPACITY", ""},
	"hierarchical-allreduce":            {"HOROVOD_HIERARCHICAL_ALLREDUCE", "1"},
	"no-hierarchical-allreduce":         {"HOROVOD_HIERARCHICAL_ALLREDUCE", "0"},
	"hierarchical-allgather":            {"HOROVOD_HIERARCHICAL_ALLGATHER", "1"},
	"no-hierarchical-allgather":         {"HOROVOD_HIERARCHICAL_ALLGATHER", "0"},
	"autotune":                          {"HOROVOD_AUTOTUNE", "1"},
	"no-autotune":                       {"HOROVOD_AUTOTUNE", "0"},
	"autotune-log-file":                 {"HOROVOD_AUTOTUNE_LOG", ""},
	"autotune-warmup-samples":           {"HOROVOD_AUTOTUNE_WARMUP_SAMPLES", ""},
	"autotune-steps-per-sample":         {"HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE", ""},
	"autotune-bayes-opt-max-samples":    {"HOROVOD_AUTOTUNE_BAYES_OPT_MAX_SAMPLES", ""},
	"autotune-gaussian-process-noise":   {"HOROVOD_AUTOTUNE_GAUSSIAN_PROCESS_NOISE", ""},
	"timeline-filename":                 {"HOROVOD_TIMELINE", ""},
	"timeline-mark-cycles":              {"HOROVOD_TIMELINE_MARK_CYCLES", "1"},
	"no-timeline-mark-cycles":           {"HOROVOD_TIMELINE_MARK_CYCLES", "0"},
	"no-stall-check":                    {"HOROVOD_STALL_CHECK_DISABLE", "1"},
	"stall-check":                       {"HOROVOD_STALL_CHECK_DISABLE", "0"},
	"stall-check-warning-time-seconds":  {"HOROVOD_STALL_CHECK_TIME_SECONDS", ""},
	"stall-check-shutdown-time-seconds": {"HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", ""},
	"mpi-threads-disable":               {"HOROVOD_MPI_THREADS_DISABLE", "1"},
	"no-mpi-threads-disable":            {"HOROVOD_MPI_THREADS_DISABLE", "0"},
	"num-nccl-streams":                  {"HOROVOD_NUM_NCCL_STREAMS", ""},
	"thread-affinity":                   {"HOROVOD_THREAD_AFFINITY", ""},
	"gloo-timeout-seconds":              {"HOROVOD_GLOO_TIMEOUT_SECONDS", ""},
	"log-level":                         {"HOROVOD_LOG_LEVEL", ""},
	"log-with-timestamp":                {"HOROVOD_LOG_HIDE_TIME", "0"},
	"no-log-hide-timestamp":             {"HOROVOD_LOG_HIDE_TIME", "0"},
	"log-without-timestamp":             {"HOROVOD_LOG_HIDE_TIME", "1"},
	"log-hide-timestamp":                {"HOROVOD_LOG_HIDE_TIME", "1"},
	"tcp":                               {"NCCL_IB_DISABLE", "1"},
}

// elastic is what a line says of a job that may shrink and grow.
type elastic struct{ low, high, slots int }

func readHorovod(r *reader) {
	var e elastic
	r.gone = true
	r.taken(func(g *given) string { return r.horovod(g, &e) })
	if e.low > 0 || e.high > 0 {
		r.span(e)
	} else {
		r.pack()
		if tasks := r.Instances.Max; tasks > 0 && r.Total > 0 && r.Total%tasks == 0 {
			r.Procs = r.Total / tasks
		}
	}
	r.program(nil)
}

func (r *reader) horovod(g *given, e *elastic) string {
	switch g.first() {
	case "-np":
		r.say("total", g)
		return number(g, &r.Total)
	case "-H":
		if why := r.hosts(g, hostList(g.values[0].Text)); why != "" {
			return why
		}
		r.left(g, whyHosts)
		return ""
	case "-hostfile":
		return r.hostsOf(g)
	case "--min-np":
		r.say("instances", g)
		return number(g, &e.low)
	case "--max-np":
		r.say("instances", g)
		return number(g, &e.high)
	case "--slots-per-host":
		r.say("procs", g)
		return number(g, &e.slots)
	case "--reset-limit":
		return r.restarts(g)
	case "--check-build":
		r.alone = g.String() + ": runs no job"
		return ""
	case "--gloo", "--verbose":
		return ""
	}
	return r.horovodEnv(g)
}

func (r *reader) horovodEnv(g *given) string {
	name := strings.TrimLeft(g.match, "-")
	set := func(name, value string) { r.Env[name] = spec.EnvValue{Value: value} }
	switch name {
	case "network-interfaces", "network-interface":
		nics := g.values[0].Text
		first, _, _ := strings.Cut(nics, ",")
		set("HOROVOD_GLOO_IFACE", first)
		set("NCCL_SOCKET_IFNAME", nics)
		return ""
	case "fusion-threshold-mb":
		mb, err := strconv.Atoi(g.values[0].Text)
		if err != nil || mb < 0 || mb > 1<<20 {
			return "not a number of megabytes"
		}
		set("HOROVOD_FUSION_THRESHOLD", strconv.Itoa(mb<<20))
		return ""
	}
	v := horovodVariable[name]
	if v.value == "" {
		v.value = g.values[0].Text
	}
	set(v.name, v.value)
	return ""
}

// span makes tasks of the size of a host, or of one process.
func (r *reader) span(e elastic) {
	size := max(1, e.slots, r.Procs)
	low := max(e.low, 1)
	if e.low == 0 {
		low = max(1, min(r.Total, e.high))
	}
	high := max(e.high, r.Total, low)
	r.Procs, r.Total = size, 0
	r.Instances = spec.Count{Min: (low + size - 1) / size, Max: (high + size - 1) / size}
}

// program leaves of a line what stands before the launcher, and what runs in its
// place: words, then the program and its arguments.
func (r *reader) program(words []command.Word) {
	at := max(0, command.Program(r.head))
	r.given = nil
	r.head = append(append([]command.Word{}, r.head[:at]...), words...)
	if len(r.tail) > 0 && r.tail[0].Known && r.tail[0].Text == "--" {
		r.tail = r.tail[1:]
	}
}

// interpreter is what runs a script whose launcher found Python by itself.
func (r *reader) interpreter() command.Word {
	if at := command.Program(r.head); at >= 0 && strings.HasPrefix(path.Base(r.head[at].Text), "python") {
		return r.head[at]
	}
	return command.Literal("python3")
}
