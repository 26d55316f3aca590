#!/usr/bin/env bash
# Prints the path of a Python that has TensorFlow and scikit-learn's digits.
# shellcheck source=../../tools/env.sh
. "$(dirname "$0")/../../tools/env.sh"
env=$cache/tf

ready() {
	[ -x "$env/bin/python" ] && (cd / && "$env/bin/python" -c '
import importlib.util, sys
sys.exit(not all(importlib.util.find_spec(name) for name in ("tensorflow", "sklearn")))')
}

# fill makes the environment beside its place and moves it there when it is
# whole: an interrupted run leaves nothing that looks finished. TensorFlow has
# no wheel for every Python, so the system's own is tried too.
fill() {
	! ready || return 0
	local uv python
	uv=$(bash "$root/test/python/uv.sh")
	temp=$(mktemp -d "$cache/.tf.XXXXXX")
	trap 'rm -rf "$temp"' EXIT
	for python in "$(command -v python3)" /usr/bin/python3; do
		say "installing TensorFlow (CPU) for $python"
		if "$uv" venv --quiet --clear --relocatable --python "$python" "$temp/tf" &&
			"$uv" pip install --quiet --python "$temp/tf/bin/python" tensorflow-cpu scikit-learn; then
			rm -rf "$env"
			mv "$temp/tf" "$env"
			return
		fi
	done
	fail "tensorflow: cannot be installed" "its wheels want one of a few Python versions"
}

need python3 python3
ready || locked tf fill
say "TensorFlow $(cd / && "$env/bin/python" -c 'import importlib.metadata as m; print(m.version("tensorflow-cpu"))') from PyPI"
echo "$env/bin/python"
