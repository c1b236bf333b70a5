# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A small fixed prefilter for lines of a log that may match a cause. PRIVATE to the collection."""

# Each error that a row of roles/node_policy/files/log_agents or log_errors knows has one of these words in its line,
# and so has a line that ends such a fault or has the command that an error follows; tests check this. The words are
# few, because each costs a pass over all bytes, and no word is in a line that an agent writes at every sync. Of the
# packets that a firewall logs only those of pods have one: the others are so many that no room would be left.
WORDS = (
    "ailed", "rror", " not ", "n't", "issing", "anary ", "xtables lock", " is full", "table full", "iptables flush",
    "Inconsistent", "ChainExists", "ncompatible", "COMMIT expected", "legacy tables", "out-of-sync", "overflow",
    "Killed process", "no destination", "only usable", "o such", "out waiting", "in use", "Too many links", "nable to",
    "o iptables ", "blacklisted", "module_request", "match by that name", "just became ready", "default CNI network",
    "ables v1.", "ables: ", "ables-restore", "annot ", "nknown ", "nvalid ", "RTNETLINK answers", "conntrack-tools)",
    "ipset v", "-listed", "Problem ", "rejected", "duplicate", "ermission denied", "ead-only", "sysctl: ", "ERROR",
    "FATAL", "No CNI", "policy DROP", "is disabled", "disagrees", "ersion magic", "restricted", "own address",
    "to become free", "Dead loop", "blocked for", "BUG: ", "oom-killer", 'comm="ip', 'comm="nft', 'comm="modprobe',
    'comm="xtables', "nreachable", "imed out", "efused", "to host", "nsupported", "undefined", "exited, status",
    "roken", "be processed", "only valid", "location failure", "section size", "dumped core", "Oops: ",
    "nitialized iptables", "nitialized protocol", "ut of memory: Kill", "RPF check", "firewall-cmd", "OUT=cni0 ",
    "OUT=flannel", "OUT=cali", "OUT=cilium", "OUT=weave", "IN=cni0 ", "IN=cali", "IN=cilium", "IN=lxc", "RIP: 0010:",
    "pc : ", "ore dumped", "panic: ", "Exiting due to", "already bound", "is different", "dropping packet",
    "is larger than", "may be incomplete", " at net/", "is masked", "Opening healthcheck", "BUG at ", "IP: [<",
    "DPT=8472 ", "DPT=4789 ", "DPT=10250 ", "DPT=6443 ", "DPT=179 ", "route/max_size", "aches are synced",
    "already using the", "lease ensure", "borting firewall", "connection failure", "waiting for IPAM",
    "with return code", "retrieved node IP", "Netlink: ", "nexpected connect", "with wait lock): ", "OOMKilled",
    "space left on device", "x509: ", "Name:        ", "]/ensure", "blocked by Weave", "Aborted", ", on dev tun",
    "unexpected source", "[PANIC]", "FATA: ", "has no available", "*logrus.Entry", "been revoked", "heartbeat missed",
    "overlaps with", "another peer", "level=fatal", "NOT OK", "TooManyRequests", "program removal", "RunOrFail",
    "Still waiting", "unsynced", "is too small", "'[' 0 '=='", ": connecting (get", ": connected to ",
    "was enabled but", "checksum offload", "bad udp cksum", "no default route", "hard LOCKUP", "hw csum",
    "Running kubelet --", "conflict with")


def is_candidate(text):
    """Whether a text may match a cause."""
    return any(word in text for word in WORDS)
