#!/usr/bin/env bash
# Prints the path of a Python that has Accelerate, on top of the PyTorch that
# torch.sh finds: this Accelerate is old enough for Debian's.
# shellcheck source=../../tools/env.sh
. "$(dirname "$0")/../../tools/env.sh"
env=$cache/python/accelerate
packages=(accelerate==0.30.1 huggingface-hub==0.25.2 safetensors==0.4.5 tqdm requests filelock fsspec typing-extensions psutil pyyaml packaging urllib3 idna certifi charset-normalizer)

ready() {
	[ -x "$env/bin/python" ] && [ "$(cat "$env/packages")" = "$torch ${packages[*]}" ] &&
		(cd / && "$env/bin/python" -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("accelerate") is None)')
}

# fill makes the environment beside its place and moves it there when it is
# whole. It sees the packages of torch's Python, which may be a virtual
# environment itself.
fill() {
	! ready || return 0
	uv=$(bash "$root/test/python/uv.sh")
	mkdir -p "$cache/python"
	temp=$(mktemp -d "$cache/python/.accelerate.XXXXXX")
	trap 'rm -rf "$temp"' EXIT
	say "installing ${packages[*]} beside $torch"
	"$uv" venv --quiet --relocatable --python "$torch" "$temp/env"
	(cd / && "$torch" -c 'import sys; print(*[p for p in sys.path if p.endswith("-packages")], sep="\n")') \
		>"$("$temp/env/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/borrowed.pth"
	"$uv" pip install --quiet --no-deps --python "$temp/env/bin/python" "${packages[@]}"
	printf '%s' "$torch ${packages[*]}" >"$temp/env/packages"
	rm -rf "$env"
	mv "$temp/env" "$env"
	(cd / && "$env/bin/python" -c 'import accelerate') ||
		fail "accelerate: is installed, but cannot be imported" "remove $env and try again"
}

need python3 python3
torch=$(bash "$root/test/python/torch.sh")
ready || locked python-accelerate fill
echo "$env/bin/python"
