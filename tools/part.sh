# Sourced: runs the parts of a test run and keeps the table of their times.
# shellcheck shell=bash

# part NAME COMMAND... runs COMMAND, which may be a function, notes how long it
# took, and leaves its status in $status. It must not be called as a condition:
# bash would then ignore "set -e" inside the function, too.
part() {
	local name=$1 begin=$EPOCHREALTIME result=ok took
	shift
	printf '\n== %s\n' "$name"
	set +e
	(
		set -e
		"$@"
	) </dev/null
	status=$?
	set -e
	took=$(seconds "$begin")
	[ "$status" = 0 ] || result="failed, status $status"
	printf '== %s: %s, %s s\n' "$name" "$result" "$took"
	printf '%s\t%s\t%s\n' "$name" "$took" "$result" >>"$MUSTER_PARTS"
}

# seconds BEGIN prints the time since then. Some locales write the fraction
# after a comma.
seconds() { LC_ALL=C awk -v a="${1/,/.}" -v b="${EPOCHREALTIME/,/.}" 'BEGIN { printf "%.1f", b - a }'; }

# table prints what ran.
table() {
	LC_ALL=C awk -F'\t' '
		{ printf "  %-12s %7.1f s   %s\n", $1, $2, $3; sum += $2; if ($3 != "ok") bad++ }
		END { printf "  %-12s %7.1f s   %s\n", "together", sum, bad ? bad " failed" : "ok" }
	' "$MUSTER_PARTS"
}
