# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether systemd accepts drop-ins, checked before they are written. PRIVATE to the collection.

systemd-analyze verify loads all units from files, with ours before all others, and computes the jobs of a boot. An
ordering cycle makes systemd drop a unit from the boot (systemd src/core/transaction.c transaction_verify_order_one()),
possibly kubelet.
"""

import re

from ..._host import scratch
from ..._host.host import OK
from ..._look.units.order import cycle_with
from ..._script.edit.drop_in import NAME

VERIFY_SECONDS = 30.0
_TARGET = "kubenode-netfilter-boot.target"
_CYCLE = "ordering cycle"
_BEFORE = re.compile(r"(?m)^Before=(\S+)$")
_LINES_LIMIT = 3


def complaints(host, units, texts, unit_path=""):
    """Problems of the drop-ins `{unit: text}` as sentences, empty where there are none. `unit_path`: the directories
    that systemd searches after ours."""
    if host.commands:
        # The units in Before= are started together with the drop-ins' units here, whether or not a boot starts both.
        wanted = set(texts).union(name for text in texts.values() for name in _BEFORE.findall(text))
        found = _complaints(host, texts, wanted, unit_path)
        if found is not None:
            # A cycle that exists already is not caused by the drop-in.
            before = _complaints(host, {}, wanted, unit_path) if found else []
            return [line for line in found if line not in (before or [])][:_LINES_LIMIT]
    cycle = cycle_with(units, texts)
    return ["an ordering cycle: " + " before ".join(cycle)] if cycle and not cycle_with(units, {}) else []


def _complaints(host, texts, wanted, unit_path):
    """Lines of systemd-analyze about cycles and about our drop-ins, or None where it could not be run."""
    target = "[Unit]\n" + "".join("Wants=%s\n" % name for name in ["default.target"] + sorted(wanted))
    files = {"%s.d/%s" % (unit, NAME): text for unit, text in texts.items()}
    files[_TARGET] = target
    with scratch.scratch(files) as folder:
        # An empty last element stands for systemd's own directories (man systemd.unit, SYSTEMD_UNIT_PATH).
        argv = ["env", "SYSTEMD_UNIT_PATH=%s:%s" % (folder, unit_path), "systemd-analyze", "verify",
                "%s/%s" % (folder, _TARGET)]
        done = host.run(argv, VERIFY_SECONDS) if host.find_binary("systemd-analyze") else None
        if done is None or done.status != OK:
            return None
        lines = [line.replace(folder + "/", "").strip() for line in (done.err + done.out).splitlines()]
    return [line for line in lines if _CYCLE in line or NAME in line]
