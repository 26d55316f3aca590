#!/usr/bin/env bash
# tree.sh   what must not be in the tree: names of package registries, paths of
#           one machine, binaries, large files
# shellcheck source=env.sh
. "$(dirname "$0")/env.sh"
cd "$root"
bad=0

# found WHAT PATTERN [PATHSPEC...] complains about every line that matches. The
# patterns are written so that they don't match themselves.
found() {
	local lines
	lines=$(git grep --untracked -n -I -E "$2" -- . "${@:3}" | cut -c1-160) || return 0
	say "$1:"$'\n'"$lines"
	bad=1
}

found "registry host (whoever builds this has a registry of their own)" \
	'(pypi|pythonhosted|npmjs|maven|docker|gcr|ghcr|quay|rubygems|anaconda)[.](org|com|io)|proxy[.]golang[.]org|download[.]pytorch[.]org|deb[.]debian[.]org' \
	':!*go.sum'
found "path of one machine" '/[w]ork/(main|shared)|/[r]oot/[.a-z]|/tmp/[b]g' ':!*go.sum'
found "private key" 'BEGIN [A-Z ]*PRIVATE[ ]KEY-----$'

while read -r f; do
	[ -f "$f" ] || continue
	[ "$(wc -c <"$f")" -le 1048576 ] || { say "large file: $f"; bad=1; }
done < <(git ls-files -co --exclude-standard)

exit "$bad"
