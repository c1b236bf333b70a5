#!/bin/sh
# rules of containers after csf has loaded its own
IPT=/usr/sbin/iptables
flush_all() {
    $IPT -F
    $IPT -X
    $IPT -t nat -F
    $IPT -t nat -X
    $IPT -t mangle -F
}
case "$1" in
    -f|--flush) flush_all; exit 0 ;;
esac
$IPT -N DOCKER 2>/dev/null || true
$IPT -A FORWARD -o docker0 -j DOCKER
