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
work=$(mktemp -d)
export MUSTER_PARTS=$work/parts
: >"$MUSTER_PARTS"

wants() { [[ " ${parts[*]} " == *" $1 "* ]]; }

# Downloads, and the building of the linter, run beside the other parts, which
# mostly wait. They are waited for, or ended, here.
fetching=()
fetch() {
	setsid "${@:2}" >"$work/$1.out" 2>"$work/$1.log" </dev/null &
	fetching+=($!)
}
finish() {
	local pid
	for pid in "${fetching[@]}"; do
		kill -- "-$pid" 2>/dev/null || true
	done
	wait
	rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM

if wants frameworks || wants chaos || wants long-chaos; then
	fetch torch bash test/python/torch.sh
fi
if wants frameworks; then
	fetch tensorflow bash test/python/tensorflow.sh
fi
if wants lint; then
	fetch lint nice -n 5 tools/lint.sh --linter
fi

# python NAME waits for an environment and prints its interpreter.
python() {
	bash "test/python/$1.sh"
}

# processes lists the packages whose tests are made of real processes. The race
# detector sees only one process at a time and makes each of them slow to start,
# so these run without it here; "make test-all" runs them with it, too.
processes() { "$go" list ./cmd/muster ./process ./test/...; }

unit() {
	echo "every package whose tests stay in one process, with the race detector"
	need gcc gcc libc6-dev # the race detector wants it; muster itself needs no C
	local packages
	mapfile -t packages < <("$go" list ./... | grep -vxFf <(processes))
	CGO_ENABLED=1 "$go" test -race "${packages[@]}"
}

road() {
	echo "real processes: the command line's scripts, the conformance of the local backend, trees under a guardian"
	local packages
	mapfile -t packages < <(processes)
	"$go" test "${packages[@]}"
}

race() {
	echo "real processes, with the race detector"
	local packages
	mapfile -t packages < <(processes)
	CGO_ENABLED=1 "$go" test -race -timeout 30m "${packages[@]}"
}

quick() {
	echo "every package, without the race detector: no cluster, no framework"
	"$go" test ./...
}

frameworks() {
	echo "real PyTorch and TensorFlow on this machine: each example through bin/muster"
	local torch tensorflow
	torch=$(python torch)
	tensorflow=$(python tensorflow)
	"$go" test -count=1 -timeout 15m -tags frameworks -v ./test/train \
		-args -muster "$root/bin/muster" -torch "$torch" -tensorflow "$tensorflow"
}

chaos() {
	echo "kills server, coordinator, executor, guardian and task of a PyTorch job, once per moment"
	local torch
	torch=$(python torch)
	"$go" test -count=1 -timeout 15m -tags chaos -short -v ./test/chaos -args -muster "$root/bin/muster" -torch "$torch"
}

long_chaos() {
	echo "kills server, coordinator, executor, guardian and task of a PyTorch job, five times per moment"
	local torch
	torch=$(python torch)
	"$go" test -count=1 -timeout 120m -tags chaos -v ./test/chaos -args -muster "$root/bin/muster" -torch "$torch"
}

bench() {
	echo "benchmarks of every package"
	"$go" test -run '^$' -bench . -benchmem ./...
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

failed=0
for part in "${parts[@]}"; do
	case $part in
	build) command=(make --no-print-directory build) ;;
	lint) command=(tools/lint.sh) ;;
	unit | road | race | quick | frameworks | chaos | bench | fuzz | long-chaos) command=("${part/-/_}") ;;
	*) fail "$part: no such part" ;;
	esac
	part "$part" "${command[@]}"
	[ "$status" != 0 ] || continue
	failed=1
	[ "$part" != build ] || break
done
printf '\n'
table
exit "$failed"
