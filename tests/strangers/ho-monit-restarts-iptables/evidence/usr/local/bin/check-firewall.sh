#!/bin/bash
# the rule for established connections has to be the first of INPUT
/usr/sbin/iptables -S INPUT | sed -n 2p | grep -q -- 'RELATED,ESTABLISHED -j ACCEPT'
