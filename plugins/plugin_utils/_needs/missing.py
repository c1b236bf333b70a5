# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Modules that a kernel lacks, as rows of findings: one for each cause, with advice that can help. PRIVATE to the
collection."""

import shlex

from . import auto_values

LACKING = ("absent", "installable")
# One of these causes affects many modules: {cause: its subject, with {option} as the configuration names it}.
_WIDE = {
    "netfilter_off": "{option}", "legacy_off": "{option}", "modules_off": "CONFIG_MODULES",
    "tree_gone": "modules of kernel {release}", "no_tree": "modules of kernel {release}",
}
_LEGACY = ("ip_tables", "ip6_tables", "iptable_", "ip6table_")
_NFT_BACKEND = ("nf_tables", "nft_compat", "nft_chain_nat")
# {cause: remedy}; installing a package does not help where an option of the kernel is not set.
_ANOTHER_KERNEL = "Boot a kernel that is built with {option}; no package adds it to kernel {release}."
_ADVICE = {
    "config_off": "Boot a kernel that is built with {subject}; no package adds it to kernel {release}.",
    "netfilter_off": _ANOTHER_KERNEL,
    "legacy_off": _ANOTHER_KERNEL,
    "modules_off": "Boot a kernel with CONFIG_MODULES=y, or one that has {subjects} built in; kernel {release} loads "
                   "no modules.",
    "tree_gone": "Drain the node and reboot it into an installed kernel, or install the modules of kernel {release}.",
    "no_tree": "Install the modules of kernel {release}, or boot a kernel that has them.",
    "in_package": "{install} {package}. Or boot a kernel that has {subject}.",
    "not_indexed": "depmod {release}",
}
_APT = ("debian", "ubuntu")
_INSTALL = ("Install the package that has {subject} for kernel {release}, run depmod if its index is outdated, or "
            "boot a kernel that has it.")
_IMMUTABLE = "Use an image whose kernel has {subject}; nothing can be installed on this node ({by})."
_USE_NFT = ("Use the nft backend of iptables, for which kernel {release} has all modules, or boot a kernel that has "
            "{subjects}.")


def missing_of(modules, rows, host):
    """Findings of the judged kernel: `required` and `optional`, and `one_cause`, the cause of all missing required
    modules, or an empty text."""
    lacking = [_lack(row, row["state"], row["cause"], row["evidence"], row["release"], row) for row in modules
               if row["state"] in LACKING]
    required = [row for row in lacking if not row["optional"]]
    wide = {row["cause"] for row in required if row["cause"] in _WIDE}
    optional = [row for row in lacking if row["optional"] and row["cause"] not in wide]
    causes = {_root(row["evidence"])
              for row in required} if required and all(row["cause"] in _WIDE for row in required) else set()
    nft = all(auto_values.available(rows[name]) for name in _NFT_BACKEND
              if name in rows) and all(name in rows for name in _NFT_BACKEND)
    return {"required": _by_cause(required, host, nft), "optional": _by_cause(optional, host, nft),
            "one_cause": "; ".join(sorted(causes))}


def missing_elsewhere(modules, host):
    """Findings of kernels that are not judged: `next` for the kernel of the next boot, if the judged kernel has the
    module, and `others` for all other kernels."""
    following, others = [], []
    for row in modules:
        if row["optional"]:
            continue
        groups = {release: group for group in row["kernels"] for release in group.get("releases", [])}
        if row["state_next_boot"] in LACKING and row["state"] not in LACKING:
            group = groups.get(row["next_release"], {})
            following.append(_lack(row, row["state_next_boot"], group.get("cause"), row["evidence_next_boot"],
                                   row["next_release"], group))
        of_their_own = []
        for release in row["lacking_on"]:
            group = groups.get(release, {})
            if group.get("cause") in _WIDE:
                # The evidence of a group is that of its newest kernel.
                evidence = group["evidence"].replace(group["releases"][0], release)
                others.append(_lack(row, group["state"], group["cause"], evidence, release, group))
            else:
                of_their_own.append((release, group))
        if of_their_own:
            releases, group = ", ".join(release for release, _group in of_their_own), of_their_own[0][1]
            others.append(_lack(row, group.get("state", "absent"), group.get("cause"),
                                group.get("evidence", "not there"), releases, group))
    return {"next": _by_cause(following, host, False), "others": _by_cause(others, host, False)}


def _lack(row, state, cause, evidence, release, source):
    return {"subject": row["subject"], "name": row["name"], "optional": row["optional"], "state": state, "cause": cause,
            "evidence": evidence, "release": release, "reason": row["reason"],
            "package": (source.get("package") or {}).get("name")}


def _by_cause(rows, host, nft):
    """One row for each module, and for each cause that many of them share."""
    found = {}
    for row in rows:
        wide = row["cause"] in _WIDE
        found.setdefault((row["release"], row["cause"] if wide else row["subject"]), []).append(row)
    return [_finding(together, host, nft) for together in found.values()]


def _finding(together, host, nft):
    row = dict(together[0])
    fields = dict(row, option=_root(row["evidence"]).split(" ")[0],
                  subjects=", ".join(each["subject"] for each in together), by=host.get("immutable_by"),
                  package=shlex.quote(row["package"] or ""), install=_installer(host.get("os") or {}))
    template = _ADVICE.get(row["cause"], _INSTALL)
    if host.get("immutable") and template is _INSTALL:
        template = _IMMUTABLE
    if nft and row["name"].startswith(_LEGACY):
        template = _USE_NFT
    if row["cause"] in _WIDE:
        row["subject"] = _WIDE[row["cause"]].format(**fields)
        row["evidence"] = "%s, so %d %s modules are missing: %s" % (
            _root(row["evidence"]), len(together), "optional" if row["optional"] else "required", fields["subjects"])
        row["reason"] = "needed by %s" % "; ".join(dict.fromkeys(each["reason"].partition(": ")[0]
                                                                 for each in together))
    return dict(row, advice=template.format(**fields))


def _installer(system):
    """The command that installs a package of the distribution of the node."""
    ids = [system.get("id"), *(system.get("id_like") or ())]
    return "apt-get install -y" if any(name in _APT for name in ids) else "dnf install -y"


def _root(evidence):
    """The part of an evidence that is the same for all modules."""
    return evidence.partition("; ")[0]
