package launcher

import (
	"regexp"
	"strings"

	"github.com/muster-project/muster/spec"
	"github.com/muster-project/muster/spec/command"
)

// mpirun stays: framework/mpi runs it in the first task, with a list of hosts
// and an agent that reaches the others. Its counts are read for the number and
// the size of tasks; -np stays in the line.
var (
	openmpi = &launcher{name: "mpirun", framework: "mpi", read: readMPI, table: table{one: true, chain: true, options: openmpiOptions}}
	mpich   = &launcher{name: "mpirun", framework: "mpi", read: readMPI, table: table{one: true, chain: true, options: mpichOptions}}
	anyMPI  = &launcher{name: "mpirun", framework: "mpi", read: readMPI, table: table{one: true, chain: true,
		options: append(append([]option{}, openmpiOptions...), mpichOptions...)}}
)

// mpiFamily is the launcher of a program's name; a bare mpirun may be of any
// family, and takes the options of all.
func mpiFamily(name string) *launcher {
	switch name {
	case "mpirun", "mpiexec":
		return anyMPI
	case "mpirun.openmpi", "mpiexec.openmpi", "orterun", "prterun":
		return openmpi
	case "mpirun.mpich", "mpiexec.mpich", "mpiexec.hydra", "mpirun.hydra":
		return mpich
	}
	return nil
}

var openmpiOptions = []option{
	{names: "-np -n -c", values: 1, use: take},
	{names: "-npernode -N", values: 1, use: take},
	{names: "-pernode", use: take},
	{names: "-map-by", values: 1, use: take},
	{names: "-H -host", values: 1, use: take},
	{names: "-hostfile -machinefile -default-hostfile", values: 1, use: take},
	{names: "-rankfile -rf", values: 1, use: drop, why: whyHosts},
	{names: "-launch-agent", values: 1, use: drop, why: whyRemote},
	{names: "-mca -prtemca", values: 2, use: take},
	{names: "-gmca -pmixmca -omca", values: 2},
	{names: "-x -cpu-set -cpu-list -npersocket -rank-by -bind-to -cpus-per-proc -cpus-per-rank -output-filename -output -stdin -xml-file", values: 1},
	{names: "-xterm -path -prefix -preload-files -wd -wdir -am -tune -debugger -timeout -app -cartofile -cf -max-restarts", values: 1},
	{names: "-ompi-server -personality -ppr -report-events -report-pid -report-uri -max-vm-size -hnp -display -runtime-options", values: 1},
	{names: "-h -help -q -quiet -v -verbose -V -version -display-map -display-allocation -output-proctable -dvm -novm"},
	{names: "-bycore -byslot -bynode -nolocal -nooversubscribe -oversubscribe -bind-to-core -bind-to-socket -report-bindings"},
	{names: "-merge-stderr-to-stdout -tag-output -timestamp-output -xml -noprefix -s -preload-binary -set-cwd-to-session-dir"},
	{names: "-debug -get-stack-traces -tv -allow-run-as-root -continuous -disable-recovery -do-not-launch -do-not-resolve"},
	{names: "-enable-recovery -index-argv-by-rank -leave-session-attached -report-child-jobs-separately -show-progress -terminate"},
	{names: "-use-hwthread-cpus -use-regexp -debug-devel -debug-daemons -debug-daemons-file -display-devel-allocation"},
	{names: "-display-devel-map -display-diffable-map -display-topo -report-state-on-timeout -forward-signals"},
}

// mpichOptions are Hydra's, and those by which the launchers of Intel and Cray
// differ from it.
var mpichOptions = []option{
	{names: "-np -n", values: 1, use: take},
	{names: "-ppn -perhost", values: 1, use: take},
	{names: "-hosts -host", values: 1, use: take},
	{names: "-f -hostfile -machinefile -machine", values: 1, use: take},
	{names: "-launcher -launcher-exec -bootstrap -bootstrap-exec -rmk", values: 1, use: drop, why: whyRemote},
	{names: "-genv -env", values: 2},
	{names: "-genvlist -envlist -wdir -configfile -topolib -bind-to -map-by -membind -demux -iface -prepend-pattern", values: 1},
	{names: "-outfile-pattern -errfile-pattern -nameserver -order-nodes -localhost -usize -gpus-per-proc -depth -d -cpu-bind", values: 1},
	{names: "-mem-bind -hostlist -path -umask -arch", values: 1},
	{names: "-genvnone -genvall -envnone -envall -enable-x -disable-x -verbose -info -print-all-exitcodes -profile -prepend-rank -l"},
	{names: "-disable-auto-cleanup -disable-hostname-propagation -pmi-port -skip-launch-node -line-buffer -label -hybrid"},
}

func readMPI(r *reader) {
	r.slots = true
	// Each ":" begins a program of its own, with processes that come on top and
	// hosts that are its own: then hosts tell nothing of the tasks.
	parts := split(r.tail)
	r.chained = len(parts) > 1
	r.taken(r.mpi)
	r.tail = parts[0]
	for _, words := range parts[1:] {
		sub := &reader{Reading: r.Reading, table: r.table, file: r.file, chained: true}
		sub.scan(words)
		sub.taken(sub.mpi)
		r.tail = append(append(r.tail, command.Literal(":")), append(sub.options(), sub.tail...)...)
	}
	r.pack()
}

// split takes a line apart at ":".
func split(words []command.Word) [][]command.Word {
	out := [][]command.Word{nil}
	for _, w := range words {
		if w.Known && w.Text == ":" {
			out = append(out, nil)
			continue
		}
		out[len(out)-1] = append(out[len(out)-1], w)
	}
	return out
}

var perNode = regexp.MustCompile(`^ppr:([0-9]+):node`)

func (r *reader) mpi(g *given) string {
	switch g.first() {
	case "-np":
		g.stays = true
		n := 0
		if why := number(g, &n); why != "" {
			return why
		}
		r.Total += n
		r.say("total", g)
	case "-npernode", "-ppn":
		g.stays = true
		r.say("procs", g)
		return number(g, &r.Procs)
	case "-pernode":
		g.stays = true
		r.Procs = 1
		r.say("procs", g)
	case "-map-by":
		g.stays = true
		if m := perNode.FindStringSubmatch(g.values[0].Text); m != nil {
			r.say("procs", g)
			return number(&given{values: command.Literals(m[1])}, &r.Procs)
		}
	case "-H", "-hosts":
		if why := r.hosts(g, hostList(g.values[0].Text)); why != "" {
			return why
		}
		r.left(g, whyHosts)
	case "-hostfile", "-f":
		return r.hostsOf(g)
	case "-mca":
		r.mca(g)
	}
	return ""
}

// mca drops the parameters that say how other hosts are reached.
func (r *reader) mca(g *given) {
	name := g.values[0].Text
	if strings.HasPrefix(name, "plm") || strings.HasPrefix(name, "orte_rsh") || name == "orte_launch_agent" || strings.HasPrefix(name, "orte_default_hostfile") {
		r.left(g, whyRemote)
		return
	}
	g.stays = true
}

// pack settles how many tasks the processes of a line fill, where it says how
// many processes a task has: no more hosts than are needed.
func (r *reader) pack() {
	if r.Total == 0 || r.Procs == 0 {
		return
	}
	need := (r.Total + r.Procs - 1) / r.Procs
	if r.Instances == (spec.Count{}) || need < r.Instances.Max {
		r.Instances = spec.Count{Min: need, Max: need}
		r.said["instances"] = r.said["total"]
	}
}
