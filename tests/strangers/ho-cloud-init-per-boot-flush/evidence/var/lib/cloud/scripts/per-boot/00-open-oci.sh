#!/bin/bash
# images of this cloud come with REJECT rules, the security list is our firewall
for i in INPUT FORWARD OUTPUT; do
    iptables -P $i ACCEPT
done
iptables -F
iptables -X
