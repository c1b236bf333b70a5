# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What to change by hand where a file flushes rules, as texts for findings. PRIVATE to the collection.

`rows` are rows of _look/hooks/rows.py that share a file, `owns` {path of an nft file: own_tables() of it}.
"""

from .rule_files import COPY, DROP, NFTABLES, loader_of
from .services import DIRECT, FIREWALL, OPENRC, manager_of, without_manager
from .sysctls import RUNNING

NFT_SORTS = ("ruleset", "table")
# Values with which a service leaves rules of others alone.
_HARMLESS = {"FLUSH_ON_STOP": "0", "AUTO": "false", "MANAGE_BUILTINS": "no", "IPV6": "yes",
             "FirewallBackend": "nftables"}
# Parts of the evidence are cut behind 300 characters, and behind 60 where one of them is not ASCII (_look/bounds.py).
LIMIT = 295
_LINES_LIMIT = 8
_TABLES_LIMIT = 3
_STARTS = ("ExecCondition", "ExecStartPre", "ExecStart", "ExecStartPost")


def shown(rows):
    """All commands with their lines; where they do not fit, only the lines of the rest."""
    if len(rows) == 1:
        return _ascii("in line %d: %s" % (rows[0]["line"], rows[0]["command"]))[:LIMIT]
    texts = ["line %d: %s" % (row["line"], row["command"] if len(row["command"]) <= 80 else row["command"][:77] + "...")
             for row in rows]
    number = len(texts)
    while number > 1 and len("; ".join(texts[:number])) + (40 if number < len(texts) else 0) > LIMIT:
        number -= 1
    left = rows[number:]
    more = ["and %d more in %s" % (len(left), _lines(left, 3))] if left else []
    return _ascii("; ".join(texts[:number] + more)[:LIMIT])[:LIMIT]


def remedy(rows, owns):
    """What to change in the file of these rows."""
    return _fitting(_remedy(rows, owns))


def _remedy(rows, owns):
    kind = rows[0]["kind"]
    if kind == "nft_config":
        return _of_nft(rows[0]["path"], rows, owns)
    if kind == "service_config":
        return _of_settings(rows)
    if all(row["directive"] for row in rows):
        return _of_unit(rows)
    if rows[0]["fix"] in ("drop_in", "divert") and not rows[0]["path"].startswith("/etc/"):
        return _of_package(rows[0])
    return _of_script(rows, owns)


def remedy_of_written(row):
    """What to change in a script that writes settings or rules into a file."""
    written, file = row["tables"], row["file"]
    if file == RUNNING:
        return _fitting("Remove %s from line %d of %s, then run sysctl -w %s." % (
            row["command"][:100], row["line"], row["path"], " ".join(text.replace("=0", "=1") for text in written[:3])))
    if loader_of(file) is None:
        return _fitting("Remove %s from line %d of %s, then correct %s." % (
            ", ".join(written[:5]), row["line"], row["path"], file))
    texts = []
    if COPY in written:
        texts.append("write only %s" % (
            "tables of the site (nft list table inet NAME)" if loader_of(file) == NFTABLES
            else "rules of the site (iptables-save | grep -vE 'KUBE-|cali|CNI-|FLANNEL')"))
    if [text for text in written if text not in (COPY, DROP)]:
        texts.append("replace flush ruleset by `table inet NAME` and `delete table inet NAME` before the definition of "
                     "its own table")
    if DROP in written:
        texts.append("accept traffic of pods in its forward chain")
    return _fitting("In line %d of %s: %s. Then correct %s." % (row["line"], row["path"], "; ".join(texts), file))


def _of_nft(path, rows, owns):
    own, shared = owns.get(path, ((), ()))
    whole = [row for row in rows if row["sort"] == "ruleset"]
    rest = [row for row in rows if row["sort"] != "ruleset"]
    text = ""
    if whole and len(own) == 1:
        text = ("In %s, replace %s by two lines before the definition of table %s: `table %s` and `delete table %s`. "
                "Then only its own table is replaced." % (path, _named(whole), own[0], own[0], own[0]))
    elif whole and own:
        text = ("In %s, replace %s by `table FAMILY NAME` and `delete table FAMILY NAME` before the definition of each "
                "of its own tables (%s)." % (path, _named(whole), _some(own)))
    elif whole and shared:
        text = ("In %s, replace %s by `table inet NAME` and `delete table inet NAME`, and move its rules to that table."
                % (path, _named(whole)))
    elif whole:
        text = ("In %s, delete %s, or replace it by `table inet NAME` and `delete table inet NAME` for the table of "
                "the site." % (path, _named(whole)))
    if rest:
        text += " " * bool(text) + "Delete %s%s: rules of others are in that table." % (
            _named(rest), "" if text else " of " + path)
    if whole and shared:
        text += " Rename its %s: iptables uses that name, too." % _some(["table " + each for each in shared])
    return text


def _of_settings(rows):
    """For files of firewall services, whose acts are in services.py."""
    path, texts = rows[0]["path"], []
    if path.startswith(OPENRC):
        return ("Run rc-update del %s, and load the rules of the site with iptables-restore --noflush in a script of "
                "/etc/local.d. A stop of the service flushes all tables, so do not stop it." % path[len(OPENRC):])
    for command in dict.fromkeys(row["command"] for row in rows):
        lines, name = _lines([row for row in rows if row["command"] == command]), command.partition("=")[0]
        if name in _HARMLESS:
            texts.append("Set %s=%s in %s of %s." % (name, _HARMLESS[name], lines, path))
        elif path == DIRECT:
            texts.append("Replace the direct rules of %s (%s) by rich rules or policies of firewalld." % (path, lines))
        else:
            texts.append("Remove %s of %s (%s)." % (lines, path, command[:100]))
    return " ".join(texts)


def _of_unit(rows):
    texts, unit = [], rows[0]["unit"]
    manager = next(filter(None, (manager_of(row["command"]) for row in rows)), None)
    if manager:
        return without_manager(manager, unit)
    for key in dict.fromkeys(row["directive"] for row in rows):
        those = [row for row in rows if row["directive"] == key]
        if key not in _STARTS:
            texts.append("an empty %s= clears %s" % (key, _lines(those)))
        elif all(row["sort"] == "restore" for row in those):
            texts.append("an empty %s=, then its command with iptables-restore --noflush (%s)" % (key, _lines(those)))
        else:
            texts.append("an empty %s=, then its other commands again without %s" % (key, _lines(those)))
    text = "Run systemctl edit %s, and write below [Service]: %s." % (unit, "; ".join(texts))
    # Any other unit, docker or kubelet, does more than the flush.
    return text + (" If the rules of the service are not needed, run systemctl mask %s instead." % unit
                   if _is_firewall(unit) else "")


def _of_package(row):
    """An upgrade undoes changes of such a file."""
    text, unit = "%s belongs to a package, so do not change it." % row["path"], row["unit"]
    if unit is None:
        return text + (" Remove the line that starts it (%s)." % ", ".join(row["through"][:2]) if row["through"] else
                       " Do not run it.")
    edit = "run systemctl edit %s, and replace its command by one that loads its rules with iptables-restore --noflush."
    if _is_firewall(unit):
        return text + " If its rules are not needed, run systemctl mask %s. Otherwise %s" % (unit, edit % unit)
    return text + " " + edit.capitalize() % unit


def _is_firewall(unit):
    return FIREWALL.match(unit.rpartition(".")[0]) is not None


def _of_script(rows, owns):
    path, texts = rows[0]["path"], []
    loads = [row for row in rows if row["sort"] in NFT_SORTS and row["file"] and row["file"] in row["command"]]
    restores = [row for row in rows if row["sort"] == "restore"]
    policies = [row for row in rows if row["sort"] == "policy"]
    others = [row for row in rows if row not in loads and row not in restores and row not in policies]
    rulesets = [row for row in others if row["sort"] == "ruleset"]
    if others:
        texts.append("Remove the command%s in %s of %s, and keep its commands that save rules." % (
            "s" * (len(others) > 1), _lines(others), path))
    if [row for row in others if row["sort"] in ("flush", "delete")]:
        texts.append("Flush only chains of the program itself (iptables -F CHAIN).")
    if rulesets:
        texts.append("With nft, delete only the own table (nft delete table inet NAME).")
    for file in list(dict.fromkeys(row["file"] for row in loads))[:1]:
        own = owns.get(file, ((), ()))[0]
        table = own[0] if len(own) == 1 else "inet NAME"
        texts.append("In %s, which %s loads, replace flush ruleset by `table %s` and `delete table %s` before the "
                     "definition of its own table." % (file, _lines(loads), table, table))
    if restores:
        texts.append("Load saved rules with iptables-restore --noflush (%s)." % _lines(restores))
    if policies:
        texts.append("Accept traffic of pods before the policy in %s." % _lines(policies))
    if rows[0]["kind"] == "script" and "by_hand" in rows[0]["triggers"]:
        texts.append("If the script is not needed, delete it (rm %s)." % path)
    return " ".join(texts)


def _named(rows):
    return "%s (%s)" % (rows[0]["command"][:60], _lines(rows))


def _lines(rows, limit=_LINES_LIMIT):
    """`line 3`, `lines 3 and 4`, `lines 3-5, 7 and more`."""
    runs = []
    for number in sorted({row["line"] for row in rows}):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    texts = [text for first, last in runs for text in (
        ("%d-%d" % (first, last),) if last > first + 1 else ("%d" % number for number in range(first, last + 1)))]
    if len(texts) == 1:
        return ("lines " if "-" in texts[0] else "line ") + texts[0]
    return "lines " + (", ".join(texts[:limit]) + " and more" if len(texts) > limit
                       else ", ".join(texts[:-1]) + " and " + texts[-1])


def _fitting(text):
    """As many whole sentences as the evidence keeps."""
    text = _ascii(text)
    if len(text) <= LIMIT:
        return text
    whole = text[:LIMIT].rpartition(". ")[0]
    return whole + "." if whole else text[:LIMIT - 3] + "..."


def _ascii(text):
    return "".join(each if " " <= each <= "~" else each.encode("unicode_escape").decode("ascii") for each in text)


def _some(names):
    return ", ".join(names[:_TABLES_LIMIT]) + (" and more" if len(names) > _TABLES_LIMIT else "")
