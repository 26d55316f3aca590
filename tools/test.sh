#!/usr/bin/env bash
# test.sh PART...   runs parts of the test suite one after another, says what
#                   each brings up and how long it took, and ends with a table
#
# A part that fails does not hide what the next ones have to say; only without
# a build there is nothing to go on with.
# shellcheck source=env.sh
. "$(dirname "$0")/env.sh"
# shellcheck source=part.sh
. "$(dirname "$0")/part.sh"
cd "$root"
go=${GO:-go}
parts=("$@")
pypi=(jax mxnet paddle ray mpi notebook) # what test/train has from PyPI
work=$(mktemp -d)
export MUSTER_PARTS=$work/parts
: >"$MUSTER_PARTS"

wants() { [[ " ${parts[*]} " == *" $1 "* ]]; }

# Downloads, and the building of the linter, run beside the other parts, which
# mostly wait. They are waited for, or ended, here.
fetching=()
fetch() {
	setsid "${@:2}" >"$work/$1.out" 2>"$work/$1.log" </dev/null &
	echo $! >"$work/$1.pid"
	fetching+=($!)
}
finish() {
	local pid dir
	for pid in "${fetching[@]}"; do
		kill -- "-$pid" 2>/dev/null || true
	done
	wait
	for dir in "$work"/hadoop-*/; do
		[ ! -d "$dir" ] || hadoop down --dir "$dir" || true
	done
	rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM

if wants frameworks || wants yarn || wants secure || wants long-yarn || wants chaos || wants long-chaos || wants bench-scale || wants bench-launch; then
	fetch torch bash test/python/torch.sh
fi
if wants frameworks || wants yarn || wants secure || wants long-yarn; then
	fetch tensorflow bash test/python/tensorflow.sh
fi
if wants frameworks; then
	fetch accelerate bash test/python/accelerate.sh # waits for torch
	fetch pypi bash -c 'for name; do bash test/python/pypi.sh "$name"; done' - "${pypi[@]}"
fi
if wants horovod; then
	fetch horovod nice bash test/python/horovod.sh
fi
if wants yarn || wants secure || wants long-yarn || wants long-chaos || wants bench-yarn; then
	versions=()
	! wants long-yarn || versions=(--version all)
	fetch jars bash test/cluster/hadoop.sh fetch "${versions[@]}"
fi
if wants lint; then
	fetch lint nice -n 5 tools/lint.sh --linter
fi

# python NAME waits for an environment and prints its interpreter.
python() {
	if [ -e "test/python/$1.sh" ]; then
		bash "test/python/$1.sh"
	else
		bash test/python/pypi.sh "$1"
	fi
}

# hadoop runs test/cluster/hadoop, which has real Hadoop clusters for tests.
hadoop() { bash test/cluster/hadoop.sh "$@"; }

# cluster MODE begins to bring up a cluster, which ends with this shell at the
# latest. It costs half a minute of both processors, so it is begun while another
# part runs that mostly waits.
cluster() {
	[ -e "$work/$1.pid" ] || fetch "$1" bash test/cluster/hadoop.sh up --dir "$work/hadoop-$1" --mode "$1" --owner $$
}

# up MODE FLAG... brings up a cluster and prints its HADOOP_CONF_DIR.
up() { hadoop up --dir "$work/hadoop-$1" --mode "$1" --owner $$ "${@:2}" | sed -n 's/^HADOOP_CONF_DIR=//p'; }

# joined MODE waits for a cluster that was begun and prints its HADOOP_CONF_DIR.
joined() {
	tail --pid="$(cat "$work/$1.pid")" -f /dev/null
	cat "$work/$1.log" >&2
	said "$1" HADOOP_CONF_DIR
}

# said MODE NAME prints a setting that a cluster of ours wants its clients to have.
said() { grep -m 1 -s "^$2=" "$work/$1.out" | cut -d = -f 2-; }

# with_keys MODE COMMAND... runs COMMAND where a cluster's Kerberos is known.
with_keys() { KRB5_CONFIG=$(said "$1" KRB5_CONFIG) MUSTER_KEYTABS=$(said "$1" KEYTABS) "${@:2}"; }

# processes lists the packages whose tests are made of real processes. The race
# detector sees only one process at a time and makes each of them slow to start,
# so these run without it here; "make test-all" runs them with it, too.
processes() { "$go" list ./cmd/muster ./process ./test/...; }

# Tests of both kinds run a KDC of their own.
kerberos() { bash test/cluster/kdc.sh; }

# Environments are made with uv where there is one, and with pip; both are tested.
installers() {
	local uv
	uv=$(bash test/python/uv.sh)
	PATH=$(dirname "$uv"):$PATH # of this part alone
}

unit() {
	echo "every package whose tests stay in one process, with the race detector"
	need gcc gcc libc6-dev # the race detector wants it; muster itself needs no C
	kerberos
	installers
	local packages
	mapfile -t packages < <("$go" list ./... | grep -vxFf <(processes))
	CGO_ENABLED=1 "$go" test -race "${packages[@]}"
}

road() {
	echo "real processes: the command line's scripts, the conformance of the local backend, trees under a guardian"
	kerberos
	local packages
	mapfile -t packages < <(processes)
	"$go" test "${packages[@]}"
}

race() {
	echo "real processes, with the race detector"
	kerberos
	local packages
	mapfile -t packages < <(processes)
	CGO_ENABLED=1 "$go" test -race -timeout 30m "${packages[@]}"
}

quick() {
	echo "every package, without the race detector: no cluster, no framework"
	kerberos
	installers
	"$go" test ./...
}

# of_index lists the tests of environments that install from a package index.
of_index() { sed -n 's/^func \(Test[A-Za-z]*\)(.*/^\1$/p' python/index_test.go | paste -sd '|'; }

frameworks() {
	echo "environments of an index; every framework on this machine: each example through bin/muster"
	local name path pythons=()
	for name in torch tensorflow accelerate "${pypi[@]}"; do
		path=$(python "$name")
		pythons+=(-python "$name=$path")
	done
	installers
	"$go" test -count=1 -timeout 5m -tags frameworks -run "$(of_index)" -v ./python
	"$go" test -count=1 -timeout 15m -tags frameworks -v ./test/train -args -muster "$root/bin/muster" "${pythons[@]}"
}

horovod() {
	echo "Horovod, built from source: its ranks meet at our store, and again after one of them died"
	local path
	path=$(python horovod)
	"$go" test -count=1 -timeout 15m -tags "frameworks horovod" -run '^TestHorovod' -v ./test/train \
		-args -muster "$root/bin/muster" -python "horovod=$path"
}

# with_hadoop lists the packages that have tests against a running cluster, but
# for test/yarn, which has arguments.
with_hadoop() {
	git grep -l --untracked -E '^//go:build .*\bhadoop\b' -- '*_test.go' | xargs -r -n 1 dirname | sort -u |
		grep -vx test/yarn | sed 's|^|./|'
}

# on_yarn CONF TEST-FLAG... runs jobs on the cluster whose configuration CONF is.
on_yarn() {
	local torch tensorflow
	torch=$(python torch)
	tensorflow=$(python tensorflow)
	HADOOP_CONF_DIR=$1 "$go" test -count=1 -timeout 30m -tags hadoop -v "${@:2}" ./test/yarn \
		-args -muster "$root/bin/muster" -torch "$torch" -tensorflow "$tensorflow"
}

# Packages run one after the other: each may kill daemons, or want all that the
# cluster has. Tests whose name begins with TestFair want the FairScheduler, those
# that begin with TestSecure Kerberos, and TestSecureNameNodes two of these.
yarn() {
	echo "real Hadoop YARN and HDFS on this machine: our clients against each daemon, then jobs under both schedulers"
	local conf packages
	mapfile -t packages < <(with_hadoop)
	conf=$(joined capacity)
	HADOOP_CONF_DIR=$conf "$go" test -count=1 -p 1 -timeout 10m -tags hadoop -skip '^(TestFair|TestSecure|TestLocalConformance$)' "${packages[@]}"
	on_yarn "$conf" -short -skip '^Test(Fair|Secure)'
	hadoop down --dir "$conf"
	! wants secure || cluster secure
	conf=$(joined fair)
	on_yarn "$conf" -short -run '^TestFair'
	hadoop down --dir "$conf"
}

# What wears out within a minute is on a second cluster, where the clients of
# Hadoop also meet the other degree of protection. Its jobs mostly wait: they run
# beside those of the first one.
secure() {
	echo "Hadoop with Kerberos at privacy, two NameNodes, two ResourceManagers: our clients, then jobs; the same at integrity"
	local conf second packages beside
	mapfile -t packages < <(with_hadoop)
	conf=$(joined secure)
	HADOOP_CONF_DIR=$conf with_keys secure "$go" test -count=1 -p 1 -timeout 10m -tags hadoop -run '^TestSecure' "${packages[@]}"
	cluster integrity
	second=$(joined integrity)
	set -m # a process group of its own can be ended as a whole
	with_keys integrity on_yarn "$second" -short -run '^TestSecureTokens' >"$work/tokens" 2>&1 &
	beside=$!
	set +m
	trap 'kill -- "-$beside" 2>/dev/null || true' EXIT
	with_keys secure on_yarn "$conf" -short -run '^TestSecure' -skip '^TestSecureTokens'
	under_fire "$conf" -short -skip "$lasting"
	hadoop down --dir "$conf"
	mapfile -t packages < <(with_hadoop | grep '^\./hadoop/')
	HADOOP_CONF_DIR=$second with_keys integrity "$go" test -count=1 -p 1 -timeout 5m -tags hadoop -run '^TestSecure' -skip '^TestSecureNameNodes' "${packages[@]}"
	wait "$beside" || {
		cat "$work/tokens"
		return 1
	}
	trap - EXIT
	cat "$work/tokens"
	hadoop down --dir "$second"
}

long_yarn() {
	echo "the other versions of Hadoop, and the gangs three times under both schedulers"
	local conf packages version
	mapfile -t packages < <(with_hadoop)
	for version in $(hadoop versions | tail -n +2); do
		conf=$(up capacity --version "$version")
		HADOOP_CONF_DIR=$conf "$go" test -count=1 -p 1 -timeout 10m -tags hadoop -skip '^Test(Fair|Secure)' "${packages[@]}"
		on_yarn "$conf" -short -run '^TestPyTorch|^TestTheVerdict|^TestTasksOutlive'
		hadoop down --dir "$conf"
	done
	conf=$(up capacity)
	on_yarn "$conf" -run Gang -skip '^Test(Fair|Secure)' -count 3
	hadoop down --dir "$conf"
	conf=$(up fair)
	on_yarn "$conf" -run '^TestFair' -count 3
	hadoop down --dir "$conf"
}

bench_yarn() {
	echo "how soon 2, 8 and 32 tasks run, and what that costs: muster, DistributedShell, Skein, TonY"
	local conf skein
	skein=$(bash bench/yarn/skein.sh)
	conf=$(joined bench)
	"$go" run ./bench/yarn -conf "$conf" -muster "$root/bin/muster" -skein "$skein" -rounds 3
	hadoop down --dir "$conf"
}

chaos() {
	echo "kills server, coordinator, executor, guardian and task of a PyTorch job, once per moment"
	local torch
	torch=$(python torch)
	"$go" test -count=1 -timeout 15m -tags chaos -short -v ./test/chaos -args -muster "$root/bin/muster" -torch "$torch"
}

# under_fire CONF TEST-FLAG... kills parts of muster and daemons of the cluster,
# which is good for nothing else meanwhile, while PyTorch trains on it.
# lasting are the tests under fire that take a minute each: "make chaos" has them.
lasting='^TestChaosYARN(NameNodeIsAwayForLong|ALostNodeIsNamed)$'
under_fire() {
	HADOOP_CONF_DIR=$1 "$go" test -count=1 -timeout 120m -tags chaos -v "${@:2}" ./test/chaos/yarn \
		-args -muster "$root/bin/muster" -torch "$(python torch)"
}

long_chaos() {
	echo "kills server, coordinator, executor, guardian and task of a PyTorch job, five times per moment; then every daemon of a secure Hadoop, too"
	local torch conf
	torch=$(python torch)
	"$go" test -count=1 -timeout 120m -tags chaos -v ./test/chaos -args -muster "$root/bin/muster" -torch "$torch"
	conf=$(up secure --set yarn.nm.liveness-monitor.expiry-interval-ms=8000)
	under_fire "$conf"
	hadoop down --dir "$conf"
}

bench() {
	echo "benchmarks of every package"
	"$go" test -run '^$' -bench . -benchmem ./...
}

# Horovod takes five minutes to build: it is measured where "make test-all" has
# built it before.
bench_launch() {
	echo "how soon 1, 8 and 32 processes run and have ended: muster, mpirun, torchrun, TorchX, Ray, horovodrun"
	need mpirun.openmpi openmpi-bin
	need mpirun.mpich mpich
	local horovod=$cache/python/horovod/bin/python
	[ -x "$horovod" ] || horovod=
	"$go" run ./bench/launch -muster "$root/bin/muster" -torch "$(python torch)" -torchx "$(python torchx)" \
		-ray "$(python ray)" -horovod "$horovod"
}

bench_scale() {
	echo "the output of a task; roll calls and beats of 100, 1,000 and 10,000 executors, beside PyTorch's TCPStore"
	"$go" run ./bench/logs
	"$go" run ./bench/rollcall -muster "$root/bin/muster" -python "$(python torch)"
}

fuzz() {
	echo "every fuzz target, ten seconds each"
	local package target
	for package in $("$go" list ./...); do
		for target in $("$go" test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
			"$go" test -run '^$' -fuzz "^$target\$" -fuzztime 10s "$package"
		done
	done
}

# left_over ends the clusters that a part has left when it failed, also one that
# was begun for the next part and is then begun anew, and saves what their daemons
# said, since their directories go with $work.
left_over() {
	local dir begun
	rm -rf "$cache/hadoop/logs"
	for dir in "$work"/hadoop-*/; do
		[ -d "$dir" ] || continue
		hadoop down --dir "$dir" || true
		begun=$work/$(basename "${dir#*/hadoop-}").pid
		if [ -e "$begun" ]; then # it would take the next one in that directory down
			tail --pid="$(cat "$begun")" -f /dev/null
			rm "$begun"
		fi
		mkdir -p "$cache/hadoop/logs/$(basename "$dir")"
		cp -r "$dir/logs/." "$cache/hadoop/logs/$(basename "$dir")" || true
	done
	say "what the daemons said: $cache/hadoop/logs"
}

failed=0
for part in "${parts[@]}"; do
	if wants yarn && [[ $part = frameworks || $part = yarn ]]; then
		cluster capacity
		[ "$part" != yarn ] || cluster fair
	elif [ "$part" = secure ]; then
		cluster secure
	elif [ "$part" = bench-yarn ]; then
		cluster bench
	fi
	case $part in
	build) command=(make --no-print-directory build) ;;
	lint) command=(tools/lint.sh) ;;
	unit | road | race | quick | frameworks | horovod | yarn | secure | chaos | bench | bench-scale | bench-launch | fuzz | long-yarn | long-chaos | bench-yarn) command=("${part/-/_}") ;;
	*) fail "$part: no such part" ;;
	esac
	part "$part" "${command[@]}"
	case "$part $status" in # for the next time; it takes half a minute of one processor
	"yarn 0") fetch archive nice bash test/cluster/hadoop.sh archive --dir "$work/hadoop-capacity" ;;
	"secure 0") fetch archive-secure nice bash test/cluster/hadoop.sh archive --dir "$work/hadoop-secure" ;;
	esac
	[ "$status" != 0 ] || continue
	failed=1
	[[ $part != *yarn && $part != secure && $part != long-chaos ]] || left_over
	[ "$part" != build ] || break
done
printf '\n'
table
exit "$failed"
