# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings that a script writes into modprobe.d and sysctl.d and that disable the node's netfilter. PRIVATE to the
collection."""

import re

from .words import MODULE

# man modprobe.d, man sysctl.d.
_MODPROBE = re.compile(r"/(?:etc|run|usr/local/lib|usr/lib|lib)/modprobe\.d/[^/]+\.conf\Z")
_SYSCTL = re.compile(r"/(?:(?:etc|run|usr/local/lib|usr/lib|lib)/sysctl\.d/[^/]+\.conf|etc/sysctl\.conf)\Z")
# Commands that run nothing instead of loading the module.
_NOTHING = re.compile(r"(?:(?:/usr)?/s?bin/(?:true|false)|true|false|:|exit\b.*)\s*\Z")
# Without these a pod's packets do not leave its node, or bridged packets bypass the rules.
_NEEDED = ("net/ipv4/ip_forward", "net/ipv4/conf/all/forwarding", "net/bridge/bridge-nf-call-iptables",
           "net/bridge/bridge-nf-call-ip6tables")


def harmful_settings(path, text):
    """The lines, in short form, that block a module of netfilter or turn off a sysctl that Services need; empty for any
    other file."""
    if _MODPROBE.match(path):
        from .._parse.kernel.module_files import parse_modprobe_conf
        return tuple("%s %s" % (each.keyword, each.name) for each in parse_modprobe_conf(text)[0]
                     if MODULE.match(each.name) and _blocks(each))
    if _SYSCTL.match(path):
        from .._parse.sysctl_conf import parse_sysctl_conf
        # The last line for a key counts.
        values = {each.key: each.value for each in parse_sysctl_conf(text)}
        return tuple("%s=0" % key.replace("/", ".") for key in _NEEDED if values.get(key) == "0")
    return ()


def _blocks(directive):
    if directive.keyword == "install":
        return _NOTHING.match(directive.rest) is not None
    return directive.keyword == "blacklist"
