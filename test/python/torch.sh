#!/usr/bin/env bash
# Prints the path of a Python that has PyTorch and scikit-learn's digits, and
# says on standard error where this PyTorch came from. In this order:
#
#   1. the one that the user's own Python has      3. Debian's package python3-torch
#   2. the CPU build, by uv's --torch-backend      4. the one on PyPI, which may be large
#
# shellcheck source=../../tools/env.sh
. "$(dirname "$0")/../../tools/env.sh"
env=$cache/torch

# has PYTHON MODULE... asks without importing, which would cost seconds. From
# "/", so that no file of the current directory is taken for a module.
has() {
	command -v "$1" >/dev/null || return 1
	(cd / && "$1" - "${@:2}" 2>/dev/null) <<-'EOF'
		import importlib.util, sys
		sys.exit(not all(importlib.util.find_spec(name) for name in sys.argv[1:]))
	EOF
}

# works imports for real: a half-installed PyTorch is as good as none.
works() {
	has "$1" torch numpy &&
		(cd / && "$1" -c 'import numpy, torch.distributed as d; assert d.is_gloo_available()') >/dev/null 2>&1
}

venv() { "$uv" venv --quiet --clear --relocatable --python "$1" "$new"; }
add() { "$uv" pip install --quiet --python "$new/bin/python" "$@"; }

# borrow PYTHON makes a venv that sees the packages of PYTHON. Unlike
# --system-site-packages this also works when PYTHON is in a venv itself.
borrow() {
	venv "$1" &&
		(cd / && "$1" -c 'import sys; print(*[p for p in sys.path if p.endswith("-packages")], sep="\n")') \
			>"$("$new/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/borrowed.pth"
}

from_user() {
	local python
	python=$(command -v python3) && works "$python" && borrow "$python"
}

# from_uv asks first, with little patience: this index is often out of reach.
from_uv() {
	venv "$(command -v python3)" &&
		UV_HTTP_TIMEOUT=5 UV_HTTP_RETRIES=0 timeout 30 "$uv" pip install --dry-run --torch-backend cpu \
			--python "$new/bin/python" torch </dev/null >/dev/null 2>&1 &&
		add --torch-backend cpu torch numpy && works "$new/bin/python"
}

from_debian() {
	local python=/usr/bin/python3
	has $python torch numpy || locked apt debian python3-torch python3-numpy || return 1
	works $python && borrow $python
}

from_pypi() {
	say "installing PyTorch from PyPI: this can be a download of several GB"
	venv "$(command -v python3)" && add torch numpy && works "$new/bin/python"
}

# fill makes the environment beside its place and moves it there when it is
# whole: an interrupted run leaves nothing that looks finished.
fill() {
	! ready || return 0
	local source
	uv=$(bash "$root/test/python/uv.sh")
	temp=$(mktemp -d "$cache/.torch.XXXXXX")
	trap 'rm -rf "$temp"' EXIT
	new=$temp/torch
	if from_user; then
		source="the one of $(command -v python3)"
	elif from_uv; then
		source="the CPU build that uv found"
	elif from_debian; then
		source="Debian's python3-torch"
	elif from_pypi; then
		source="the one on PyPI"
	else
		fail "torch: no PyTorch can be installed" "as root: apt-get install python3-torch"
	fi
	# Only the digits that come with scikit-learn are wanted. Without its
	# dependencies it is a tenth as large, and brings no second numpy.
	has "$new/bin/python" sklearn || add --no-deps scikit-learn
	echo "$source" >"$new/source"
	rm -rf "$env"
	mv "$new" "$env"
}

ready() { [ -s "$env/source" ] && has "$env/bin/python" torch numpy sklearn; }

need python3 python3
ready || locked torch fill
say "PyTorch $(cd / && "$env/bin/python" -c 'import torch; print(torch.__version__)'): $(cat "$env/source")"
echo "$env/bin/python"
