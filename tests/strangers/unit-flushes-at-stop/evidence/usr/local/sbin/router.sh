#!/bin/sh
DIR=/opt/router
install -m 0644 "$DIR"/router.nft /etc/nftables.conf
