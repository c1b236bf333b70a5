#!/bin/bash
logger -t keepalived-notify "now MASTER"
iptables -t nat -A PREROUTING -d 172.20.6.10/32 -p tcp --dport 443 -j REDIRECT --to-ports 6443
