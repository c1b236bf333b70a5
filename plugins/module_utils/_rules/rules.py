# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Helpers for questions about one rule. PRIVATE to the collection."""

import re

_PORT = re.compile(r"^(\d{1,5})(?::(\d{0,5}))?$")


def match_options(rule, match):
    """The options of one match of the rule, `[(option, [values], negated)]`; empty if it does not use that match."""
    return [option for name, options in rule.matches if name == match for option in options]


def uses(rule, match):
    """True if the rule uses that match, even without an option."""
    return any(name == match for name, _options in rule.matches)


def states(rule):
    """The connection states that the rule is limited to; an empty set if it has no such limit, or a negated list."""
    found = set()
    for match in ("conntrack", "state"):
        for option, values, negated in match_options(rule, match):
            if option in ("--ctstate", "--state") and not negated:
                found.update(state for value in values for state in value.split(","))
    return found


def is_limit(rule):
    """True if the rule applies only beyond a number of connections or a rate, and so to none of the first packets."""
    over = ("--connlimit-above", "--hashlimit-above")
    under = ("--connlimit-upto", "--hashlimit-upto")
    return any(option in (under if negated else over) and values[:1] != ["0"]
               for match in ("connlimit", "hashlimit") for option, values, negated in match_options(rule, match))


def to_local(rule):
    """True if the rule is limited to destinations that are addresses of the node."""
    return any(option == "--dst-type" and "LOCAL" in values and not negated
               for option, values, negated in match_options(rule, "addrtype"))


def port_ranges(rule):
    """The destination ports the rule is limited to, `[(first, last)]`; None if it names or excludes none."""
    return _ranges(rule, False)


def all_but_ports(rule):
    """The destination ports that a rule excludes, where it matches all others; None where it excludes no port."""
    return _ranges(rule, True)


def _ranges(rule, but):
    for _name, options in rule.matches:
        for option, values, negated in options:
            if option in ("--dport", "--dports", "--ports", "--destination-port", "--destination-ports"):
                return [_range(text) for value in values for text in value.split(",")
                        if _PORT.match(text)] if negated is but else None
    return None


def _range(text):
    first, last = _PORT.match(text).groups()
    return int(first), int(first) if last is None else int(last or 65535)


def plain_value(rule, option):
    """The value of `-s`, `-d`, `-i`, `-o` or `-p` unless it is absent or negated."""
    value, negated = rule.options.get(option, (None, False))
    return None if negated else value
