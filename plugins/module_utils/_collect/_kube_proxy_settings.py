# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What kube-proxy is told about connections and addresses. PRIVATE to the collection."""

import re

from .._parse.kube_proxy_conntrack import FLAGS, parse_kube_proxy_conntrack

_SWITCHES = ("conntrack-tcp-be-liberal", "masquerade-all")
# As arguments of a program, of a list in YAML, or a line of its own in a file of arguments.
_GIVEN = re.compile(r"(?<![\w-])(?:--)?(%s|cluster-cidr|detect-local-mode|masquerade-all)(?:[=:\s]+)[\"']?([^\s\"',\]]+)" % "|".join(sorted(FLAGS)))
_COMMENT = re.compile(r"^\s*#.*$", re.M)


def settings_of_process(process, path, config):
    """C({"cluster_cidr", "detect_local_mode", "masquerade_all", "conntrack", "conntrack_by"}) of a process of its own; each is None where
    its configuration could not be read."""
    if not path:
        given = dict((name, process.option(name)) for name in list(FLAGS) + ["cluster-cidr", "detect-local-mode"] if name not in _SWITCHES)
        given.update((name, _switched(process.arguments, name)) for name in _SWITCHES)
        return _settings(given, "kube-proxy")
    if config is None:
        return {}
    given = dict((flag, config["conntrack"].get(field)) for flag, field in FLAGS.items())
    given.update({"cluster-cidr": config["cluster_cidr"], "detect-local-mode": config["detect_local_mode"]})
    given["masquerade-all"] = config["masquerade_all_nftables" if config["mode"] == "nftables" else "masquerade_all"]
    return _settings(given, "kube-proxy")


def settings_of_texts(texts, by):
    """The same of a program that contains kube-proxy, from the texts that hold its arguments. k3s keeps kube-proxy from setting limits and
    sets them itself (k3s pkg/agent/syssetup); which range pods have it may know from its server alone."""
    given = dict(pair for text in texts for pair in _GIVEN.findall(_COMMENT.sub("", text)))
    settings = _settings(given, by)
    return settings if "cluster-cidr" in given else dict(settings, cluster_cidr=None)


def _settings(given, by):
    return {"cluster_cidr": [block for block in (given.get("cluster-cidr") or "").split(",") if block],
            "detect_local_mode": given.get("detect-local-mode") or None,
            "masquerade_all": (given.get("masquerade-all") or "false").lower() == "true",
            "conntrack": parse_kube_proxy_conntrack(dict((FLAGS[name], text) for name, text in given.items() if name in FLAGS)), "conntrack_by": by}


def _switched(arguments, name):
    """Value of a bool flag, which it has behind C(=) only: alone it means true (pflag, NoOptDefVal); None where it is not given."""
    values = [argument.partition("=")[2] or "true" for argument in arguments if re.match(r"--?%s(=|\Z)" % name, argument)]
    return values[-1] if values else None
