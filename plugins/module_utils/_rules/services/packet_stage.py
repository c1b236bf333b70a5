# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stages of a packet of a Service when it meets a rule. PRIVATE to the collection."""

# BEFORE or AFTER DNAT, or in INPUT, which is for the node's own traffic: there only rules that name a virtual address
# are tried. RAW: before conntrack, where replies pass as well. MARKED: a pod's packet to itself through its Service.
VIRTUAL, ENDPOINT, NAMED, RAW, MARKED = "virtual", "endpoint", "named", "raw", "marked"
