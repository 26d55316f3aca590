#!/usr/bin/env bash
# resident.sh MEBIBYTES   runs a job of four tasks, and holds the memory that
#                         its executors and guardians had at most to a budget
# shellcheck source=env.sh
. "$(dirname "$0")/env.sh"
cd "$root"
limit=$1
home=$(mktemp -d)
export MUSTER_HOME=$home MUSTER_CLAIMS=$home/claims
trap 'bin/muster serve --stop >/dev/null 2>&1 || true; rm -rf "$home"' EXIT

# The task waits for a file, so that the look happens while it runs.
bin/muster run -N 4 -c 0.1 -- \
	bash -c ": >$home/ran.\$MUSTER_INDEX; until [ -e $home/seen ]; do sleep 0.1; done" >"$home/out" 2>&1 </dev/null &
run=$!

# peaks prints the peak of resident memory, in KiB, of every process that runs
# the embedded executor.
peaks() {
	local dir program
	for dir in /proc/[0-9]*; do
		program=$(readlink "$dir/exe") || continue
		case $program in
		"$home"/*/executor-*) awk '/^VmHWM/ { print $2 }' "$dir/status" 2>/dev/null || true ;;
		esac
	done
}

found=
for _ in $(seq 300); do
	sleep 0.2
	found=$(peaks)
	# An executor and a guardian for each task, and the tasks run.
	[ "$(wc -l <<<"$found")" -lt 8 ] || [ ! -e "$home/ran.0" ] || [ ! -e "$home/ran.1" ] ||
		[ ! -e "$home/ran.2" ] || [ ! -e "$home/ran.3" ] || break
	kill -0 "$run" 2>/dev/null || break
done
touch "$home/seen"
wait "$run" || { cat "$home/out" >&2; fail "the job that was to be measured failed"; }
[ "$(wc -l <<<"$found")" -ge 8 ] || fail "the executors were not seen"
sort -n <<<"$found" | awk -v m="$limit" '
	{ last = $1 }
	END { printf "executor: %.1f MiB resident of %d allowed, the largest of %d processes\n", last / 1024, m, NR; exit last > m * 1024 }'
