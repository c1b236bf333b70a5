#!/bin/sh
{ echo "flush ruleset"; nft list ruleset; } > /etc/sysconfig/nftables.conf
