#!/usr/bin/env bash
# Prints the path of a Python that has Horovod, built from source against
# Debian's PyTorch with the gloo backend alone. The build takes five minutes of
# a processor, so its wheel is kept.
# shellcheck source=../../tools/env.sh
. "$(dirname "$0")/../../tools/env.sh"
version=0.28.1
env=$cache/python/horovod
wheels=$cache/python/wheels
debian=/usr/bin/python3
packages=("horovod==$version" cloudpickle psutil pyyaml packaging)

ready() {
	[ -x "$env/bin/python" ] && [ "$(cat "$env/packages")" = "${packages[*]}" ] &&
		(cd / && "$env/bin/python" -c 'import horovod.torch') 2>/dev/null
}

# build makes the wheel. Debian's PyTorch has its headers in a package of its
# own, and those of pybind11, which they include, in another.
build() {
	locked apt debian python3-torch libtorch-dev pybind11-dev python3-dev cmake g++ make ||
		fail "horovod: what it is built from cannot be installed" \
			"as root: apt-get install python3-torch libtorch-dev pybind11-dev python3-dev cmake g++ make"
	say "building Horovod $version: five minutes of a processor"
	"$uv" pip install --quiet --python "$temp/env/bin/python" pip 'setuptools<70' wheel "${packages[@]:1}" &&
		PATH=$temp/env/bin:$PATH MAKEFLAGS=-j2 \
			HOROVOD_WITH_PYTORCH=1 HOROVOD_WITHOUT_TENSORFLOW=1 HOROVOD_WITHOUT_MXNET=1 \
			HOROVOD_WITH_GLOO=1 HOROVOD_WITHOUT_MPI=1 HOROVOD_CPU_OPERATIONS=GLOO \
			"$temp/env/bin/python" -m pip wheel --no-build-isolation --no-deps --wheel-dir "$temp/wheel" \
			"horovod==$version" >"$cache/horovod.log" 2>&1 || {
		tail -n 20 "$cache/horovod.log" >&2
		fail "horovod: cannot be built" "the whole output is in $cache/horovod.log"
	}
	mkdir -p "$wheels"
	mv "$temp/wheel/"*.whl "$wheels/"
}

# fill makes the environment beside its place and moves it there when it is
# whole: an interrupted run leaves nothing that looks finished.
fill() {
	! ready || return 0
	uv=$(bash "$root/test/python/uv.sh")
	mkdir -p "$cache/python"
	temp=$(mktemp -d "$cache/python/.horovod.XXXXXX")
	trap 'rm -rf "$temp"' EXIT
	"$uv" venv --quiet --relocatable --system-site-packages --python "$debian" "$temp/env"
	compgen -G "$wheels/horovod-$version-*.whl" >/dev/null || build
	"$uv" pip install --quiet --python "$temp/env/bin/python" --find-links "$wheels" --only-binary :all: "${packages[@]}"
	printf '%s' "${packages[*]}" >"$temp/env/packages"
	rm -rf "$env"
	mv "$temp/env" "$env"
	ready || fail "horovod: was built, but cannot be imported" "remove $wheels/horovod-* and try again"
}

need python3 python3
ready || locked python-horovod fill
echo "$env/bin/python"
