#!/bin/bash
# written by configuration management, do not edit
iptables -P INPUT ACCEPT
iptables -P FORWARD ACCEPT
iptables -P OUTPUT ACCEPT

# Remove all rules and chains.
iptables -F
iptables -X

iptables -A INPUT -i lo -j ACCEPT
iptables -A INPUT -m state --state RELATED,ESTABLISHED -j ACCEPT
for port in 22 6443 10250; do
  iptables -A INPUT -p tcp -m tcp --dport $port -j ACCEPT
done
iptables -A INPUT -j DROP
