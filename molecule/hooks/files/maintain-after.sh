#!/bin/sh
# Maintenance, what the package's scriptlet does after an upgrade, and an administrator who insists; each may be
# refused.
set -eu
cp --archive /etc/systemd/scripts /var/lib/stand-in/scripts.fixed
rm -f /var/log/watch-chains /run/maintained
systemctl start watch-chains
until grep -q '"looks": 10,' /var/log/watch-chains 2>/dev/null; do sleep 0.2; done
maintain-node
test -e /run/maintained
for verb in try-restart restart stop start; do systemctl "$verb" iptables.service || echo "$verb was refused"; done
