#!/usr/bin/env bash
# pypi.sh NAME   prints the path of a Python that has what NAME's tests need,
#                and makes it first where it is not there yet
#
# Versions are pinned: the frameworks' own variables and messages change.
# shellcheck source=../../tools/env.sh
. "$(dirname "$0")/../../tools/env.sh"
name=${1:?which environment}
env=$cache/python/$name

# packages are what is installed, module what shows that it is.
case $name in
jax) packages=(jax==0.10.2) module=jax ;;
mxnet) packages=(mxnet==1.9.1 'numpy<1.24') module=mxnet ;;
paddle) packages=(paddlepaddle==3.3.1 setuptools) module=paddle ;;
ray) packages=('ray[default]==2.60.0') module=ray ;;
mpi) packages=(mpi4py==4.1.2) module=mpi4py ;;
torchx) packages=(torchx==0.7.0) module=torchx ;;
notebook) packages=(jupyterlab tensorboard) module=jupyterlab ;;
*) fail "$name: no such environment" "it is one of jax, mxnet, paddle, ray, mpi, torchx, notebook" ;;
esac

ready() {
	[ -x "$env/bin/python" ] && (cd / && "$env/bin/python" -c '
import importlib.util, sys
sys.exit(importlib.util.find_spec(sys.argv[1]) is None)' "$module") && [ "$(cat "$env/packages")" = "${packages[*]}" ]
}

# fill makes the environment beside its place and moves it there when it is
# whole: an interrupted run leaves nothing that looks finished. Not every
# framework has wheels for every Python, so the system's own is tried too.
fill() {
	! ready || return 0
	local uv python
	uv=$(bash "$root/test/python/uv.sh")
	mkdir -p "$cache/python"
	temp=$(mktemp -d "$cache/python/.$name.XXXXXX")
	trap 'rm -rf "$temp"' EXIT
	for python in "$(command -v python3)" /usr/bin/python3; do
		say "installing ${packages[*]} for $python"
		if "$uv" venv --quiet --clear --relocatable --python "$python" "$temp/env" &&
			"$uv" pip install --quiet --python "$temp/env/bin/python" "${packages[@]}"; then
			printf '%s' "${packages[*]}" >"$temp/env/packages"
			rm -rf "$env"
			mv "$temp/env" "$env"
			return
		fi
	done
	fail "$name: cannot be installed" "its wheels want one of a few Python versions"
}

need python3 python3
ready || locked "python-$name" fill
echo "$env/bin/python"
