# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes `ansible_collections.kubenode.netfilter` importable from a checkout, with and without Ansible, and compares
every section that a collector returns in a unit test with RETURN of its module.

Without `__init__.py` the folders are namespace packages, so that a bare Python finds them below sys.path.
"""

import functools
import importlib
import json
import os
import pathlib
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
LINK = TOP / ".build" / "ansible_collections" / "kubenode" / "netfilter"

if not os.path.lexists(str(LINK)):
    LINK.parent.mkdir(parents=True, exist_ok=True)
    LINK.symlink_to(os.path.join("..", "..", ".."), target_is_directory=True)
# Nodes and texts to look at lie in tests/fixtures, the tables of checks in tests/checks, what the tests and make share
# in tests/tools.
sys.path[:0] = [str(TOP / ".build"), *(str(TOP / "tests" / name) for name in ("unit", "fixtures", "checks", "tools"))]

PLUGINS = "ansible_collections.kubenode.netfilter.plugins."
LOOK = PLUGINS + "module_utils._look."
# The oldest Python that ansible-core 2.16 runs on.
CONTROLLER = (3, 10)
SUBJECTS = ("host.host", "modules.kernel_modules", "backends.iptables_backend", "rules.iptables_chains",
            "lock.xtables_lock", "hooks.flush_hooks", "conntrack.conntrack", "ipvs.ipvs", "kube.kubelet",
            "kube.kube_proxy", "cni.cni")
SLOW = {line for line in (TOP / "tests/unit/slow.txt").read_text(encoding="utf-8").splitlines()
        if not line.startswith("#")}


def watch_collectors():
    """Make each collector check its result, if this Python can import the code of the controller. This must run before
    any module imports a collector by name."""
    if sys.version_info < CONTROLLER:
        return
    try:
        evidence = importlib.import_module(PLUGINS + "plugin_utils._answer.validate")
    except ImportError:
        return  # A Python without Ansible.
    escaped_lines = importlib.import_module(PLUGINS + "plugin_utils._render.text").escaped_lines
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
        known = evidence.checked_section(name, answered[name])
        assert known == written(answered[name]), "%s has keys that are not documented" % name
        return section

    return watched


watch_collectors()


def pytest_collection_modifyitems(items):
    """What a test with a long version tries, from its marker, for the table of `make robust`; a test that only knows
    afterwards uses record_property. And the mark `slow`, from the list of the slow tests."""
    for item in items:
        name = item.nodeid
        if name in SLOW or name.partition("[")[0] in SLOW:
            item.add_marker("slow")
        for marker in item.iter_markers("robust"):
            item.user_properties.extend(marker.kwargs.items())
