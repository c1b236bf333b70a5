#!/bin/bash
set -e
ip netns add vpn0 2>/dev/null || true
ip netns exec vpn0 ip route flush table all

# firewall of the namespace
ip netns exec vpn0 iptables -F
ip netns exec vpn0 iptables -P FORWARD DROP
ip netns exec vpn0 iptables -P OUTPUT DROP
ip netns exec vpn0 iptables -A OUTPUT -o lo -j ACCEPT
ip netns exec vpn0 iptables -A OUTPUT -o "$dev" -j ACCEPT
ip netns exec vpn0 ip6tables -F
ip netns exec vpn0 ip6tables -P OUTPUT DROP

ip link set "$dev" netns vpn0
ip netns exec vpn0 ip link set lo up
ip netns exec vpn0 ip link set "$dev" up mtu "$tun_mtu"
ip netns exec vpn0 ip addr add "$ifconfig_local/24" dev "$dev"
ip netns exec vpn0 ip route add default via "$route_vpn_gateway"
