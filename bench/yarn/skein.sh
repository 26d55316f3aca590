#!/usr/bin/env bash
# Prints the path of a Python that has Skein.
# shellcheck source=../../tools/env.sh
. "$(dirname "$0")/../../tools/env.sh"
env=$cache/skein

ready() { [ -x "$env/bin/python" ] && (cd / && "$env/bin/python" -c 'import skein') 2>/dev/null; }

# fill makes the environment beside its place and moves it there when it is
# whole: an interrupted run leaves nothing that looks finished.
fill() {
	! ready || return 0
	local uv
	uv=$(bash "$root/test/python/uv.sh")
	temp=$(mktemp -d "$cache/.skein.XXXXXX")
	trap 'rm -rf "$temp"' EXIT
	say "installing Skein"
	"$uv" venv --quiet --clear --relocatable --python "$(command -v python3)" "$temp/skein"
	"$uv" pip install --quiet --python "$temp/skein/bin/python" skein==0.8.2 setuptools
	rm -rf "$env"
	mv "$temp/skein" "$env"
}

need python3 python3
ready || locked skein fill
echo "$env/bin/python"
