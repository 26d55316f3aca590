#!/usr/bin/env bash
# fresh.sh   are the generated files what their generators make today?
#
# The generators run in a copy of the tree, so that a check never changes it.
# shellcheck source=env.sh
. "$(dirname "$0")/env.sh"
cd "$root"
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
mkdir "$temp/tree"
git ls-files -co --exclude-standard -z | while IFS= read -r -d '' f; do
	[ ! -e "$f" ] || printf '%s\0' "$f"
done | tar -c --null -T - | tar -x -C "$temp/tree"
cp -a "$temp/tree" "$temp/before"
(cd "$temp/tree" && "${GO:-go}" generate ./...)
diff -r -q "$temp/before" "$temp/tree" | sed "s|$temp/tree/||g; s|$temp/before/||g" >"$temp/stale" || true
[ ! -s "$temp/stale" ] || {
	cat "$temp/stale" >&2
	fail "generated files are stale" "make docs"
}
