#!/bin/sh
iptables -t nat -A OUTPUT -p tcp --dport 10350 -j DNAT --to 172.20.8.16:10003
iptables -t nat -A OUTPUT -p tcp --dport 10351 -j DNAT --to 172.20.8.17:10003
