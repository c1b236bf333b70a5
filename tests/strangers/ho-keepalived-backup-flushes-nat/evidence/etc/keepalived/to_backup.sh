#!/bin/bash
logger -t keepalived-notify "now BACKUP, removing redirect"
iptables -t nat -F
