#!/bin/sh
# A copy for people to read, and the rules of the site for the next boot.
iptables-save > "/var/backups/iptables.$(date +%F)"
nft list ruleset > /var/backups/ruleset.nft
iptables-save | grep -vE 'KUBE-|cali|CNI-|FLANNEL' > /etc/iptables/rules.v4
