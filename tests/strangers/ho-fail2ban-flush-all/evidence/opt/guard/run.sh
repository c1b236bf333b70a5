#!/bin/sh
exec fail2ban-server -f
