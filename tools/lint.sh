#!/usr/bin/env bash
# lint.sh            every check that needs no test run. All of them run, so that
#                    one call shows everything that is to be done.
# lint.sh --linter   only makes sure that golangci-lint is built
# shellcheck source=env.sh
. "$(dirname "$0")/env.sh"
cd "$root"
go=${GO:-go}

# linter prints the path of golangci-lint, built from the version that
# tools/go.mod pins. The first time takes minutes.
linter() {
	local key path
	key=$({ "$go" env GOVERSION && cat tools/go.sum; } | sha256sum | cut -c1-12)
	path=$cache/golangci-lint-$key
	build_linter() {
		[ ! -x "$path" ] || return 0
		say "building golangci-lint"
		"$go" -C tools build -o "$path.new" github.com/golangci/golangci-lint/v2/cmd/golangci-lint
		mv "$path.new" "$path"
	}
	[ -x "$path" ] || locked golangci-lint build_linter
	echo "$path"
}

if [ "${1:-}" = --linter ]; then
	linter >/dev/null
	exit
fi

golangci() {
	local path
	path=$(linter)
	"$path" run --allow-serial-runners ./...
}

formatted() {
	local files
	files=$(git ls-files -co --exclude-standard '*.go' | while read -r f; do [ ! -f "$f" ] || echo "$f"; done | xargs gofmt -l)
	[ -z "$files" ] || fail "not formatted: ${files//$'\n'/ }" "gofmt -w"
}

vet() {
	"$go" vet -tags "frameworks chaos hadoop horovod" ./...
}

# size holds what "make build" made to its budget.
size() { # NAME MEBIBYTES
	local bytes
	[ -f "bin/$1" ] || fail "bin/$1: not built" "make build"
	bytes=$(wc -c <"bin/$1")
	awk -v n="$1" -v b="$bytes" -v m="$2" 'BEGIN {
		printf "bin/%s: %.1f MiB of %d allowed\n", n, b / 1048576, m; exit b > m * 1048576 }'
}

# documented demands a line in docs/dependencies.md for every module that is used.
documented() {
	local module missing=
	for module in $("$go" list -deps -test -f '{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}' ./... | sort -u); do
		grep -q -F "$module" docs/dependencies.md || missing="$missing $module"
	done
	[ -z "$missing" ] || fail "docs/dependencies.md: says nothing of$missing"
}

failed=
check() {
	say "-- $1"
	set +e
	(
		set -e
		"${@:2}"
	)
	[ $? = 0 ] || failed="$failed, $1"
	set -e
}

check "formatting" formatted
check "vet" vet
check "golangci-lint" golangci
check "generated files" tools/fresh.sh
check "dependencies" documented
check "tree" tools/tree.sh
check "size of muster" size muster 60
check "size of the executor" size executor 12
check "memory of the executor" tools/resident.sh 16
[ -z "$failed" ] || fail "lint:${failed#,}"
