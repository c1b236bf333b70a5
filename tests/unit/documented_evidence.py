# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every section that a collector returns in a unit test matches RETURN of its module: the controller accepts only
documented keys."""

import functools
import importlib
import json
import sys

LOOK = "ansible_collections.kubenode.netfilter.plugins.module_utils._look."
TEXT = "ansible_collections.kubenode.netfilter.plugins.plugin_utils._render.text"
# The oldest Python that ansible-core 2.16 runs on.
CONTROLLER = (3, 10)
EVIDENCE = "ansible_collections.kubenode.netfilter.plugins.plugin_utils._answer.validate"
SUBJECTS = ("host.host", "modules.kernel_modules", "backends.iptables_backend", "rules.iptables_chains",
            "lock.xtables_lock", "hooks.flush_hooks", "conntrack.conntrack", "ipvs.ipvs", "kube.kubelet",
            "kube.kube_proxy", "cni.cni")


def watch_collectors():
    """Make each collector check its result, if this Python can import the code of the controller. This must run before
    any module imports a collector by name."""
    if sys.version_info < CONTROLLER:
        return
    try:
        evidence = importlib.import_module(EVIDENCE)
    except ImportError:
        return  # A Python without Ansible.
    escaped_lines = importlib.import_module(TEXT).escaped_lines
    fitted = importlib.import_module(LOOK + "bounds").fitted
    for place in SUBJECTS:
        module = importlib.import_module(LOOK + place)
        subject = place.rpartition(".")[2]
        setattr(module, "collect_" + subject,
                _watched(getattr(module, "collect_" + subject), "node_" + subject, evidence, fitted, escaped_lines))


def _watched(collect, name, evidence, fitted, escaped_lines):
    """`collect` with a check of its result: the controller accepts every key, and changes only control characters,
    which it escapes."""

    def written(value):
        if isinstance(value, dict):
            return {escaped_lines(key): written(item) for key, item in value.items()}
        if isinstance(value, list):
            return [written(item) for item in value]
        return escaped_lines(value) if isinstance(value, str) else value

    @functools.wraps(collect)
    def watched(*args, **options):
        section = collect(*args, **options)
        answered = json.loads(json.dumps(fitted({name: section})))
        assert evidence.checked_section(name, answered[name]) == written(
            answered[name]), "%s has keys that are not documented" % name
        return section

    return watched
