#!/bin/sh
iptables -F FORWARD
iptables -A FORWARD -i enp1s0 -o enp2s0 -j DROP
