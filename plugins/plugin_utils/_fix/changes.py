# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a changing module changed, or in check mode would change, in a few words each. PRIVATE to the collection."""

# Records and backups serve the undo and do not count as changes of the node.
_OURS = "/var/lib/kubenode-netfilter/"


def of_files(result: dict) -> list[str]:
    """The files of the node that were written or removed."""
    return [path for path in result.get("files") or [] if not path.startswith(_OURS)]


def of_modules(result: dict) -> list[str]:
    """The modules that were loaded, and the files."""
    loaded = [row["name"] for row in result.get("modules") or []
              if row["after"] != row["before"] and row["after"] in ("loaded", "builtin")]
    return ["load %s" % name for name in loaded] + of_files(result)


def of_settings(result: dict) -> list[str]:
    """The sysctls that were set, and the files."""
    rows = [row for row in result.get("settings") or [] if row["after"] is not None and row["after"] != row["before"]]
    return ["%s: %s -> %s" % (row["key"], row["before"], row["after"]) for row in rows] + of_files(result)


def of_groups(result: dict) -> list[str]:
    """The groups of iptables programs that were switched, and the files."""
    rows = [row for row in result.get("groups") or [] if row["after"] != row["before"]]
    return ["%s: %s -> %s" % (row["name"], row["before"], row["after"]) for row in rows] + of_files(result)
