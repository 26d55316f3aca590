#!/usr/bin/env bash
# Prints the path of a uv that works; installs one under the cache if there is none.
# shellcheck source=../../tools/env.sh
. "$(dirname "$0")/../../tools/env.sh"

# A program called uv may be a shim of a version switcher that has no uv behind it.
if found=$(command -v uv) && "$found" --version >/dev/null 2>&1; then
	echo "$found"
	exit
fi

# pip's --target works with every Python, also where the system's own is
# "externally managed" and where the module venv is not installed.
fetch() {
	[ ! -x "$cache/uv/bin/uv" ] || return 0
	local pip=(-m pip install --quiet --disable-pip-version-check --root-user-action ignore)
	local new python
	new=$(mktemp -d "$cache/.uv.XXXXXX")
	for python in python3 /usr/bin/python3; do
		command -v "$python" >/dev/null || continue
		"$python" -m pip --version >/dev/null 2>&1 || continue
		say "installing uv with $(command -v "$python")"
		if "$python" "${pip[@]}" --target "$new/uv" uv >&2 && "$new/uv/bin/uv" --version >/dev/null; then
			mv "$new/uv" "$cache/uv"
			break
		fi
		rm -rf "$new/uv"
	done
	rm -rf "$new"
	[ -x "$cache/uv/bin/uv" ]
}

locked uv fetch || { locked apt debian python3 python3-pip && locked uv fetch; } ||
	fail "uv: cannot be installed" "install uv, or Python with pip (as root: apt-get install python3-pip)"
echo "$cache/uv/bin/uv"
