# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stages of a packet of a Service when it meets a rule. PRIVATE to the collection."""

# Before DNAT, behind it, or in INPUT, which is the node's own: there only who names a virtual address is tried. RAW:
# before conntrack, where answers pass too. MARKED: of a pod to itself through its Service, which is always masqueraded.
VIRTUAL, ENDPOINT, NAMED, RAW, MARKED = "virtual", "endpoint", "named", "raw", "marked"
