#!/usr/bin/env bash
# hadoop.sh COMMAND...   runs test/cluster/hadoop, and first installs what it
#                        needs: Java and Maven, and Kerberos for modes that have it
# shellcheck source=../../tools/env.sh
. "$(dirname "$0")/../../tools/env.sh"

need mvn maven # Debian's brings a Java along
need java default-jre-headless
case " $* " in
*" secure "* | *" integrity "*)
	need javac default-jdk-headless
	bash "$root/test/cluster/kdc.sh"
	;;
esac

# Whoever runs it from the cache now keeps the file that it has.
mkdir -p "$cache/hadoop"
new=$cache/hadoop/.cluster.$$
trap 'rm -f "$new"' EXIT
"${GO:-go}" -C "$root" build -o "$new" ./test/cluster/hadoop
mv "$new" "$cache/hadoop/cluster"
exec "$cache/hadoop/cluster" "$@"
