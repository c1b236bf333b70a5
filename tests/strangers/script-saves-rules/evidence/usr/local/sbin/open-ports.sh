#!/bin/sh
for port in 6443 10250; do
    iptables -I INPUT -p tcp --dport "$port" -j ACCEPT
done
iptables-save | tee /etc/iptables/rules.v4 >/dev/null
ip6tables-save -f /etc/iptables/rules.v6
