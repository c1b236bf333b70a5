# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Limits for the size of the evidence, which holds examples instead of everything on the node.

All sections of a node together have to stay below 64 KB of JSON. The chains take up to 14 KB (rules/fit.py), the hooks
up to 12 KB where they are not the only section (hooks/fit.py), conntrack up to 10 KB, and the kernel modules most of
the rest. If the total is too large, the section of the kernel modules is cut.

Keeps node_iptables_chains small, however many rules the node has.

Numbers, digests and every kind of observation stay; texts and examples are cut, the least informative ones first.

The section node_flush_hooks in a size that fits.

Rows are sorted by importance: the last rows are cut first, and the number of cut rows is kept.
"""

import json
import re

ALL_LIMIT, MODULES_LIMIT, OTHERS_LIMIT = 63 * 1024, 56 * 1024, 16 * 1024
# Sections that limit their own size.
_FITTED = ("node_kernel_modules", "node_iptables_chains", "node_flush_hooks", "node_conntrack", "node_logs")
CONNTRACK_LIMIT, HOOKS_LIMIT, HOOKS_ALONE_LIMIT, BLOCKS_LIMIT = 10 * 1024, 12 * 1024, 40 * 1024, 3
# The controller refuses numbers above 64 bits.
_NUMBER_LIMIT = 2 ** 64
# Characters of a text; JSON writes a character that is not ASCII in six bytes or more.
_PLAIN = re.compile(r"[ -~]*\Z")
ASCII_LIMIT, WIDE_LIMIT = 300, 60


def presentable(value, narrow=False, whole=False):
    """`value` with every text cut to a length limit (except with `whole`) and without invalid Unicode (bytes of file
    names, halves of JSON escapes), and null for a number that no answer may have: where a file or a metric holds such a
    number, only this one is unread."""
    if isinstance(value, str):
        text = _valid(value)
        if whole:
            return text
        limit = ASCII_LIMIT if _PLAIN.match(text) else WIDE_LIMIT
        return text[:40 if narrow else limit]
    if isinstance(value, (int, float)):
        return value if -_NUMBER_LIMIT < value < _NUMBER_LIMIT else None
    if isinstance(value, dict):
        return {_valid(key): presentable(content, narrow, whole) for key, content in value.items()}
    if isinstance(value, list):
        return [presentable(content, narrow, whole) for content in value]
    return value


def cut(text, limit):
    """A text of at most `limit` characters, cut between two words where it has several, so that no name is cut."""
    if len(text) <= limit:
        return text
    kept = text[:limit - 3]
    return (kept if text[limit - 3].isspace() else kept.rpartition(" ")[0] or kept).rstrip() + "..."


def _valid(text):
    return text.encode("utf-8", "replace").decode("utf-8")


def fitted(sections):
    """The sections with presentable texts. Sections that do not limit their own size get shorter texts if too large."""
    others = presentable({name: section for name, section in sections.items() if name not in _FITTED})
    if _size(others) > OTHERS_LIMIT:
        others = presentable(others, narrow=True)
    found = dict(sections, **others)
    if "node_logs" in found:
        found["node_logs"] = presentable(found["node_logs"], whole=True)
    if "node_conntrack" in found:
        section = presentable(found["node_conntrack"])
        found["node_conntrack"] = section if _size(section) <= CONNTRACK_LIMIT else presentable(section, narrow=True)
    if "node_flush_hooks" in found:
        found["node_flush_hooks"] = fitted_hooks(presentable(found["node_flush_hooks"]),
                                                 HOOKS_LIMIT if len(found) > 1 else HOOKS_ALONE_LIMIT)
    if "node_kernel_modules" in found and _size(found) > ALL_LIMIT:
        modules = found.pop("node_kernel_modules")
        found["node_kernel_modules"] = fitted_modules(modules, ALL_LIMIT - _size(found))
    return found


def fitted_modules(section, limit=MODULES_LIMIT):
    """The section node_kernel_modules with at most `limit` bytes; details are cut, verdicts stay."""
    section = presentable(section)
    for row in section["modules"]:
        row["blocks"] = _examples(row["blocks"])
    for shrink in (_without_repetition, _with_short_texts, _with_verdicts_of_lacking_kernels, _with_verdicts_only,
                   _without_blocks):
        if _size(section) <= limit:
            break
        shrink(section, limit)
    return section


def _size(value):
    return len(json.dumps(value))


def _examples(blocks):
    """A few of the blocks, at least one for each load path that is blocked; certain blocks come before uncertain ones,
    and blocks of more load paths before others: the install line that modprobe runs before a blacklist line."""
    ranked = sorted(blocks, key=lambda block: (block["effect"] != "blocks", -len(block["for"])))
    chosen, shown = [], set()
    for block in ranked:
        if set(block["for"]) - shown:
            chosen.append(block)
            shown.update(block["for"])
    return (chosen + [block for block in ranked if block not in chosen])[:BLOCKS_LIMIT]


def _without_repetition(section, _limit):
    for row in section["modules"]:
        row["blocks"] = row["blocks"][:2]
        for group in row["kernels"]:
            group["evidence"] = ""
    section["unreadable"] = section["unreadable"][:5]


def _with_short_texts(section, _limit):
    for row in section["modules"]:
        row["evidence"] = cut(row["evidence"], 60)
        if not row["blocks"]:
            # Where lines block the load, a person has to find them.
            row["at_boot_cause"] = cut(row["at_boot_cause"], 60)
        row["persisted_by"] = row["persisted_by"][:1]


def _with_verdicts_of_lacking_kernels(section, _limit):
    for row in section["modules"]:
        row["kernels"] = [group for group in row["kernels"] if group["state"] not in ("loaded", "builtin", "loadable")]


def _with_verdicts_only(section, limit):
    section["unreadable"] = []
    for row in reversed(section["modules"]):
        if _size(section) <= limit:
            break
        row.update(kernels=[], blocks=row["blocks"][:1], persisted_by=[], evidence=cut(row["evidence"], 24),
                   at_boot_cause="" if row["blocks"] else cut(row["at_boot_cause"], 24))


def _without_blocks(section, limit):
    for row in reversed(section["modules"]):
        if _size(section) <= limit:
            break
        row["blocks"] = []


# With the default options; more only where more examples or Services are asked for.
SIZE_LIMIT = 14 * 1024
_OF_EXAMPLE, _OF_SERVICE = 800, 160
# Room for the footprint of the look, which is added at the end.
_FOOTPRINT = 120


def size_limit(options):
    """In bytes of JSON."""
    return SIZE_LIMIT + _OF_EXAMPLE * max(0, options["max_offenders"]
                                          - 5) + _OF_SERVICE * max(0, options["max_services"] - 20)


def fitted_chains(section, limit):
    """The section with at most `limit` bytes of JSON."""
    section = presentable(section)
    for shrink in (_with_cut_texts, _with_few_notices, lambda cut: _keep_of_each_kind(cut, 2), _with_few_services,
                   _with_few_networks, _with_few_pods, lambda cut: _keep_of_each_kind(cut, 1), _with_few_rows,
                   _with_tiny_texts):
        if len(json.dumps(section)) <= limit - _FOOTPRINT:
            break
        shrink(section)
    return section


def _cut(rows, key, length):
    for row in rows:
        row[key] = row[key][:length]


def _with_cut_texts(section):
    _cut(section["observations"], "text", 100)
    _cut(section["notices"], "text", 60)


def _with_few_notices(section):
    section["notices"] = section["notices"][:5]
    section["unread"] = section["unread"][:5]


def _keep_of_each_kind(section, number):
    seen, kept = {}, []
    for row in section["observations"]:
        seen[row["kind"]] = seen.get(row["kind"], 0) + 1
        if seen[row["kind"]] <= number:
            kept.append(row)
        else:
            section["left_out"][row["kind"]] = section["left_out"].get(row["kind"], 0) + 1
    section["observations"] = kept


def _with_few_services(section):
    section["service_rows_left_out"] += len(section["service_rows"][5:])
    del section["service_rows"][5:]


def _with_few_networks(section):
    networks = section["networks"]
    for key in ("services", "endpoints"):
        if networks[key]:
            networks[key + "_left_out"] += len(networks[key][3:])
            del networks[key][3:]


def _with_few_pods(section):
    for row in section["expected"]:
        row["pods"] = row["pods"][:2]


def _with_few_rows(section):
    section["owners"] = sorted(section["owners"], key=lambda row: -row["rules"])[:10]
    section["rule_sets"] = section["rule_sets"][:8]


def _with_tiny_texts(section):
    _cut(section["observations"], "text", 40)
    _cut(section["observations"], "detail", 60)
    for row in section["observations"]:
        row["repair"] = None
    section["notices"], section["unread"] = section["notices"][:2], section["unread"][:2]
    for row in section["rule_sets"]:
        row["tables"], row["unreadable"] = row["tables"][:5], row["unreadable"][:5]
        row["policies"] = dict(sorted(row["policies"].items())[:12])
        row["kube_rules_by_table"] = dict(sorted(row["kube_rules_by_table"].items())[:5])


ROWS_LIMIT, MORE_LIMIT, _SKIPPED_LIMIT = 40, 10, 5
# The most important first.
_LISTS = ("files", "written", "unordered", "waiting", "saved_rule_sets", "hooks")


def fitted_hooks(section, limit):
    """The section with at most `limit` bytes of JSON, as far as the counts alone fit into it."""
    section = dict(section)
    for key in ("hooks", "files"):
        _keep(section, key, ROWS_LIMIT)
    for shrink in (_without_examples, _without_explanations, _with_short_rows):
        if _size(section) <= limit:
            return section
        shrink(section)
    # No list may cost another one its first row: a check passes where its list is empty.
    while _size(section) > limit and any(len(section[key]) > 1 for key in _LISTS):
        longer = max((key for key in _LISTS if len(section[key]) > 1), key=lambda key: _size(section[key]))
        _keep(section, longer, len(section[longer]) * 7 // 8)
    for key in reversed(_LISTS):
        while _size(section) > limit and section[key]:
            _keep(section, key, len(section[key]) - 1)
    return section


def _keep(section, key, number):
    section[key] = section[key][:number]
    section["hooks_left_out"] = section["hook_count"] - len(section["hooks"])


def _without_examples(section):
    section["scanned"] = dict(section["scanned"], skipped=section["scanned"]["skipped"][:_SKIPPED_LIMIT],
                              other_languages=section["scanned"]["other_languages"][:_SKIPPED_LIMIT])
    section["unordered"], section["waiting"] = section["unordered"][:MORE_LIMIT], section["waiting"][:MORE_LIMIT]
    section["saved_left_out"] += len(section["saved_rule_sets"][MORE_LIMIT:])
    section["saved_rule_sets"] = section["saved_rule_sets"][:MORE_LIMIT]


def _without_explanations(section):
    """Every finding stays, with its first command and what to change."""
    section["files"] = [dict(row, returns="", shown="in line %d: %s" % (row["line"], row["command"])
                             + " and %d more" % (row["commands"] - 1) * (row["commands"] > 1))
                        for row in section["files"]]


def _with_short_rows(section):
    section["hooks"] = [dict(row, command=row["command"][:120], through=row["through"][:1],
                             live_because=row["live_because"][:80]) for row in section["hooks"]]
    section["files"] = [dict(row, command=row["command"][:120], shown=row["shown"][:160],
                             live_because=row["live_because"][:80]) for row in section["files"]]
