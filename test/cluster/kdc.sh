#!/usr/bin/env bash
# kdc.sh   installs what test/cluster/kdc runs: MIT Kerberos of Debian, whose own
#          server stays off
# shellcheck source=../../tools/env.sh
. "$(dirname "$0")/../../tools/env.sh"

PATH=$PATH:/usr/sbin
need krb5kdc krb5-kdc
need kadmin.local krb5-admin-server
need kinit krb5-user
