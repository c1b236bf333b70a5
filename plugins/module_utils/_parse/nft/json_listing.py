# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The output of `nft -j list ruleset`, translated into the text of `nft list ruleset`. PRIVATE to the collection.

Sample:
    {"nftables": [{"metainfo": {"version": "1.0.6", "json_schema_version": 1}}, {"table": {"family": "ip", "name":
    "kube-proxy"}},
     {"chain": {"family": "ip", "table": "kube-proxy", "name": "services"}},
     {"rule": {"family": "ip", "table": "kube-proxy", "chain": "services", "expr": [{"counter": null}, {"jump":
     {"target": "a"}}]}}]}
Format: libnftables-json(5). An object that is not handled here becomes a line that no reader takes for a rule.
"""

import json
import re

_START = re.compile(r'\{\s*"nftables"\s*:\s*\[')
_SIMPLE = ("accept", "drop", "continue", "return", "notrack")
_DEPTH = 20


class _Unknown(ValueError):
    """An object of an unknown kind."""


def find_ruleset(text):
    """The first JSON rule set in `text` as nft prints it without `-j`, None without one. Of a truncated rule set the
    complete objects are taken, and the tables stay open, as in a truncated listing."""
    start = _START.search(text)
    if not start:
        return None
    try:
        objects, _end = json.JSONDecoder().raw_decode(text, start.start())
        return listing_of(objects["nftables"], True)
    except (ValueError, RecursionError):
        return listing_of(_objects(text, start.end()), False)


def _objects(text, at):
    decoder = json.JSONDecoder()
    while True:
        at = _skip(text, at)
        try:
            found, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return
        yield found


def _skip(text, at):
    while at < len(text) and text[at] in " \t\r\n,":
        at += 1
    return at


def listing_of(objects, whole):
    """The listing of nft; `whole=False`, or an unknown object in a table, leaves out the closing brace."""
    tables, torn = {}, set()
    for found in objects:
        if not isinstance(found, dict) or len(found) != 1:
            continue
        kind, what = next(iter(found.items()))
        if isinstance(what, dict) and kind in ("table", "chain", "rule", "set", "map"):
            try:
                key = _word(what.get("family")), _word(what.get("name") if kind == "table" else what.get("table"))
            except _Unknown:
                whole = False  # The table it belongs to is unknown.
                continue
            try:
                _take(tables.setdefault(key, ([], {})), kind, what)
            except _Unknown:
                torn.add(key)
    lines = []
    for (family, name), (blocks, chains) in tables.items():
        lines.append("table %s %s {" % (family, name))
        for block in blocks:
            lines += block
        for chain in chains.values():
            lines += chain + ["\t}"]
        lines += ["}"] if whole and (family, name) not in torn else []
    return "\n".join(lines + [""])


def _take(table, kind, what):
    if kind == "table" and what.get("flags"):
        table[0].append(["\tflags " + ",".join(_flags(what))])
    elif kind in ("set", "map"):
        table[0].append(_set(kind, what))
    elif kind == "chain":
        name = _word(what.get("name"))
        table[1][name] = ["\tchain %s {" % name]
        if what.get("hook"):
            policy = " policy %s;" % _word(what["policy"]) if what.get("policy") else ""
            base = tuple(_word(what.get(key)) for key in ("type", "hook", "prio"))
            table[1][name].append("\t\ttype %s hook %s priority %s;" % base + policy)
    elif kind == "rule":
        if _word(what.get("chain")) not in table[1]:
            raise _Unknown("a rule of no chain")
        table[1][_word(what["chain"])].append("\t\t" + _rule(what))


def _set(kind, what):
    lines = ["\t%s %s {" % (kind, _word(what.get("name"))), "\t\ttype unknown"]
    elements = what.get("elem")
    if isinstance(elements, list) and elements:
        lines.append("\t\telements = { %s }" % ", ".join(_element(element) for element in elements))
    return lines + ["\t}"]


def _element(element):
    if isinstance(element, list) and len(element) == 2:
        read = _statement if isinstance(element[1], dict) and "concat" not in element[1] else _expression
        return "%s : %s" % (_element(element[0]), read(element[1]))
    if isinstance(element, dict) and isinstance(element.get("elem"), dict):
        inner = element["elem"]
        return _expression(inner.get("val")) + _comment(inner)
    return _expression(element)


def _comment(what):
    return ' comment "%s"' % str(what["comment"]).replace('"', "'") if what.get("comment") else ""


def _rule(what):
    expressions = what.get("expr")
    words = [_known(expression) for expression in expressions] if isinstance(expressions, list) else ["?"]
    return (" ".join(words) + _comment(what)).lstrip(" ")


def _known(found):
    """A statement; an unknown one becomes a word that no reader understands, so that the ones after it are read."""
    try:
        return _statement(found)
    except _Unknown:
        return "?"


def _statement(found):
    if not isinstance(found, dict) or len(found) != 1:
        raise _Unknown(str(found)[:80])
    kind, what = next(iter(found.items()))
    if kind in _SIMPLE:
        return kind
    if kind in _STATEMENTS and (isinstance(what, dict) or what is None):
        return _STATEMENTS[kind](what or {})
    raise _Unknown("%s is not known" % kind[:40])


def _match(what):
    operator = what.get("op")
    sign = {"!=": "!= ", "<": "< ", ">": "> ", "<=": "<= ", ">=": ">= "}.get(operator, "")
    left = _expression(what.get("left"))
    return "%s %s%s" % (left, "== " if " & " in left and not sign else sign, _expression(what.get("right")))


def _translation(kind):
    def text(what):
        address, port = what.get("addr"), what.get("port")
        family = " %s" % _word(what["family"]) if what.get("family") else ""
        to = _expression(address) if address is not None else ""
        to = ("[%s]:%s" if ":" in to else "%s:%s") % (to, _expression(port)) if port is not None else to
        return " ".join([kind + family] + (["to " + to] if to else []) + _flags(what))
    return text


def _flags(what):
    flags = what.get("flags") or []
    return [_word(flag) for flag in (flags if isinstance(flags, list) else [flags])]


def _reject(what):
    if what.get("type") == "tcp reset":
        return "reject with tcp reset"
    return "reject with %s %s" % (_word(what["type"]), _word(what.get("expr"))) if what.get("type") else "reject"


def _log(what):
    return 'log prefix "%s"' % str(what["prefix"]).replace('"', "'") if what.get("prefix") else "log"


def _words(form, *keys):
    return lambda what, _depth=0: form % tuple(_word(what.get(key)) for key in keys)


def _expressions(form, *keys):
    return lambda what, depth=0: form % tuple(_expression(what.get(key), depth) for key in keys)


_STATEMENTS = {
    "match": _match, "jump": _words("jump %s", "target"), "goto": _words("goto %s", "target"), "reject": _reject,
    "counter": lambda what: "counter packets %s bytes %s" % (_word(what.get("packets", 0)),
                                                             _word(what.get("bytes", 0))),
    "vmap": _expressions("%s vmap %s", "key", "data"), "mangle": _expressions("%s set %s", "key", "value"), "log": _log,
    "set": lambda what: "%s %s { %s }" % (_word(what.get("op")), _word(what.get("set")), _expression(what.get("elem"))),
    "xt": _words('xt %s "%s"', "type", "name"), "limit": _words("limit rate %s/%s", "rate", "per"),
    "ct count": lambda what: "ct count %s%s" % ("over " if what.get("inv") else "", _word(what.get("val")))}
_STATEMENTS.update((kind, _translation(kind)) for kind in ("dnat", "snat", "masquerade", "redirect"))


def _expression(found, depth=0):
    if depth > _DEPTH:
        raise _Unknown("too deep")
    if isinstance(found, (str, int)) and not isinstance(found, bool):
        return _word(found)
    if isinstance(found, list):
        return ",".join(_expression(part, depth + 1) for part in found)
    if not isinstance(found, dict) or len(found) != 1:
        raise _Unknown(str(found)[:80])
    kind, what = next(iter(found.items()))
    if kind == "concat" and isinstance(what, list):
        return " . ".join(_expression(part, depth + 1) for part in what)
    if kind == "set":
        return "{ %s }" % ", ".join(_element(part) for part in (what if isinstance(what, list) else [what]))
    if kind in ("&", "|", "^") and isinstance(what, list) and len(what) == 2:
        return "%s %s %s" % (_expression(what[0], depth + 1), kind, _expression(what[1], depth + 1))
    if kind == "range" and isinstance(what, list) and len(what) == 2:
        return "%s-%s" % (_expression(what[0], depth + 1), _expression(what[1], depth + 1))
    if isinstance(what, dict) and kind in _EXPRESSIONS:
        return _EXPRESSIONS[kind](what, depth + 1)
    raise _Unknown("%s is not known" % kind[:40])


def _meta(what, _depth):
    key = _word(what.get("key"))
    return key if key in ("iifname", "oifname") else "meta %s" % key


_EXPRESSIONS = {
    "meta": _meta, "payload": _words("%s %s", "protocol", "field"), "ct": _words("ct %s", "key"),
    "fib": lambda what, _depth: "fib %s %s" % (" . ".join(_flags(what)), _word(what.get("result"))),
    "prefix": _words("%s/%s", "addr", "len"), "numgen": _words("numgen %s mod %s", "mode", "mod"),
    "map": _expressions("%s map %s", "key", "data"), "elem": _expressions("%s", "val")}


def _word(found):
    """A name or a number; a text that could end a line or a block is rejected."""
    text = str(found)
    if found is None or isinstance(found, (dict, list)) or re.search(r'[\s{};"]', text):
        raise _Unknown(text[:80])
    return text
