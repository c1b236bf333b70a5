#!/bin/sh
/usr/local/bin/k3s-killall.sh
systemctl disable k3s
rm -f /etc/systemd/system/k3s.service
