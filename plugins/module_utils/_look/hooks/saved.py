# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Saved rule sets of a node: their content, and the programs that load and write them."""

from ..._host.host import OK
from ..._script.rule_files import LOADERS
from ..._script.saved_rules import IPTABLES, SIZE_LIMIT, family_of, read_saved
from ..._script.service_settings import savers
from ..._script.services import OPENRC
from .rows import BOOT

ROWS_LIMIT, WHO_LIMIT = 20, 5
_FILES = ("/etc/iptables/rules.v4", "/etc/iptables/rules.v6", "/etc/iptables/iptables.rules",
          "/etc/iptables/ip6tables.rules", "/etc/iptables.rules", "/etc/ip6tables.rules", "/etc/iptables.up.rules",
          "/etc/sysconfig/iptables", "/etc/sysconfig/ip6tables", "/etc/sysconfig/iptables.save",
          "/etc/sysconfig/ip6tables.save", "/etc/sysconfig/iptables.fallback", "/etc/sysconfig/ip6tables.fallback",
          "/etc/systemd/scripts/ip4save", "/etc/systemd/scripts/ip6save", "/var/lib/iptables/rules-save",
          "/var/lib/ip6tables/rules-save", "/etc/iptables/rules-save", "/etc/iptables/rules6-save",
          "/etc/nftables.conf", "/etc/sysconfig/nftables.conf", "/etc/nftables.nft")
# The link that `systemctl enable` creates.
_WANTED = "/etc/systemd/system/multi-user.target.wants/"
# Flatcar and Gentoo (net-firewall/iptables): unit -> the file it writes when the node goes down.
_STORES = (("iptables-store.service", "/var/lib/iptables/rules-save"),
           ("ip6tables-store.service", "/var/lib/ip6tables/rules-save"))


class SavedSets:
    """Files that hold rules, each read once. `text(path)` returns None for a file that cannot be read."""

    def __init__(self, host):
        self._host = host
        self._texts, self._sets = {}, {}

    def text(self, path):
        return self._read(path)[1]

    def status(self, path):
        return self._read(path)[0]

    def _read(self, path):
        if path not in self._texts:
            status, data = self._host.read_bytes(path, SIZE_LIMIT)
            self._texts[path] = (status, data.decode("utf-8", "replace") if status == OK else None)
        else:
            self._host.note(path, self._texts[path][0])
        return self._texts[path]

    def of(self, path):
        """`Saved` of a file, None where it holds no rules."""
        text = self.text(path)
        if path not in self._sets:
            self._sets[path] = read_saved(text, family_of(path)) if text else None
        return self._sets[path]

    def rows(self, replays, units):
        """The saved rule sets, those with chains of Kubernetes first: (rows, how many were left out)."""
        writers = self._writers(units)
        found = []
        for path in sorted(set(_FILES) | set(replays) | set(writers)):
            saved = self.of(path)
            # A configuration file of nft looks like a dump; it counts as a dump only if it contains chains of
            # Kubernetes.
            if path in writers or (saved and (saved.format == IPTABLES or saved.kubernetes)):
                row = self._row(path, replays.get(path, ()), sorted(set(writers.get(path, ()))))
                found.append(self._with_loader(row, units))
        found.sort(key=lambda row: (-min(row["kubernetes"], 1), not row["replayed_by"], row["path"]))
        return found[:ROWS_LIMIT], len(found[ROWS_LIMIT:])

    def _with_loader(self, row, units):
        """The row with the service that loads such a file, of which a bundle may show that it is enabled without its
        unit; without both, whether the file is loaded at boot is not known."""
        loader = LOADERS.get(row["path"])
        if not units.in_bundle or not loader or row["replayed_by"] or units.known(loader):
            return row
        if self._host.read_link(_WANTED + loader) is not None:
            return dict(row, replayed_by=[loader], at_boot=True)
        return dict(row, at_boot=None)

    def _row(self, path, replays, writers):
        saved = self.of(path)
        who = sorted({name for name, _live, _triggers in replays})
        at_boot = [live for _name, live, triggers in replays if BOOT in triggers]
        return {"path": path, "format": saved.format if saved else None,
                "family": saved.family if saved else family_of(path), "tables": saved.tables if saved else [],
                "owners": saved.owners if saved else {}, "rules": saved.rules if saved else 0,
                "kubernetes": saved.kubernetes if saved else 0, "replayed_by": who[:WHO_LIMIT],
                "at_boot": True if True in at_boot else None if None in at_boot else False,
                "saved_by": writers[:WHO_LIMIT]}

    def _writers(self, units):
        found = {}
        for path, who in savers(self.text):
            if who.startswith(OPENRC) or units.runs(path.rpartition("/")[2] + ".service")[0] is not False:
                found.setdefault(path, []).append(who)
        for unit, path in _STORES:
            if units.known(unit) and (units.all.state(unit) or "").startswith("enabled"):
                found.setdefault(path, []).append(unit)
        return found
