#!/bin/bash
iptables -t nat -C POSTROUTING -s 192.0.2.0/24 ! -d 192.0.2.0/24 -o ens3 -j SNAT --to-source 192.0.2.60 2>/dev/null ||
iptables -t nat -A POSTROUTING -s 192.0.2.0/24 ! -d 192.0.2.0/24 -o ens3 -j SNAT --to-source 192.0.2.60
