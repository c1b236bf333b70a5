#!/bin/sh
# turn.sh VERSION MAX_PER_CORE MIN: the values of the boot again, and then the start of such a kube-proxy; tells what
# there is afterwards.
set -eu
systemctl stop kube-proxy
grep '^net\.netfilter\.nf_conntrack_' /run/boot-sysctls | grep -v '_count =' | sysctl --quiet --load=- > /dev/null
/usr/local/lib/stand-in/configure "$@"
systemctl start kube-proxy
cat "/run/after-$1"
