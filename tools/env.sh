# Sourced by the scripts of this tree: where things lie, and a few verbs.
# shellcheck shell=bash
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# Everything that is downloaded or built for development, but is no part of the
# tree. It may be deleted at any time; the scripts make it again.
cache=${XDG_CACHE_HOME:-$HOME/.cache}/muster-dev
mkdir -p "$cache"
export GOFLAGS="${GOFLAGS:-} -buildvcs=false" # the version comes from the Makefile

# say prints for people. Standard output belongs to what a script returns.
say() { printf '%s\n' "$*" >&2; }

# fail says what is wrong and what to do about it.
fail() {
	say "$1"
	[ -z "${2:-}" ] || say "  hint: $2"
	exit 1
}

# locked NAME COMMAND... runs COMMAND while no other shell holds NAME.
locked() {
	local lock=$cache/$1.lock
	shift
	(
		flock 9
		"$@" 9>&-
	) 9>"$lock"
}

# debian PACKAGE... installs Debian packages, which only root can do.
debian() {
	[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
	say "installing $* (Debian)"
	local apt=(apt-get -q -y -o DPkg::Lock::Timeout=600)
	export DEBIAN_FRONTEND=noninteractive
	{
		"${apt[@]}" install --no-install-recommends "$@" ||
			{ "${apt[@]}" update && "${apt[@]}" install --no-install-recommends "$@"; }
	} </dev/null >"$cache/apt.log" 2>&1 || {
		tail -n 5 "$cache/apt.log" >&2
		return 1
	}
}

# need PROGRAM PACKAGE... makes sure that PROGRAM can be run.
need() {
	local program=$1
	shift
	command -v "$program" >/dev/null || locked apt debian "$@" ||
		fail "$program: not found" "as root: apt-get install $*"
}
