#!/bin/bash
iptables -t nat -D POSTROUTING -s 192.0.2.0/24 ! -d 192.0.2.0/24 -o ens3 -j SNAT --to-source 192.0.2.60
