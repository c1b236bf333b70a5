#!/bin/sh
set -eu
cat > /etc/nftables.conf <<RULES
#!/usr/sbin/nft -f
table inet edge
delete table inet edge
table inet edge {
    chain forward {
        type filter hook forward priority filter; policy drop;
        ct state established,related accept
        iifname { "cni0", "uplink0" } accept
    }
}
RULES
systemctl enable nftables
