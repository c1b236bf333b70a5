# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Removes the chains that kube-proxy and kubelet left in the unused backend, without a reboot. PRIVATE to the
collection.

First the rules are read and checked, and each check may refuse. Then a process that can restore everything is armed.
Only then the tables are cleaned, one at a time, each in one transaction.
"""

import time

from ... import _errors
from ..._host import lock
from ..._look.backends import anchors
from ..._look.backends.iptables_backend import collect_iptables_backend
from ..._look.rules.rule_sets import rules_of, save_command
from ..._look.tree import open_asked
from ..._script.edit.changed_lines import changed_lines
from ..backends.record import boot_id_of, read_save
from ..backends.choice import AUTO, BACKENDS
from ..backends.result import Refused, conflicts_of, left_in
from .raw_dump import DumpError, changed_between, packets_between, read_dump
from .removal import Removal
from .result import empty_result
from .rollback import Cleaning, Rollback, confirm, still_armed

_PROGRAMS = {"ipv4": "iptables-save", "ipv6": "ip6tables-save"}
_BOUNDS = {"rollback_seconds": (10, 3600), "window_seconds": (1, 300)}


class Context:
    """A node with its rules as they are, and the `result` of the module so far."""

    def __init__(self, host, node):
        self.host = host
        self.node = node
        self.rules = rules_of(host, node)
        self.boot_id = boot_id_of(host)
        self.result = empty_result()


def run(params, check_mode):
    """Clean, or confirm an earlier cleaning; returns the result of the module kubenode.netfilter.iptables_leftovers."""
    for name, (least, most) in sorted(_BOUNDS.items()):
        if not least <= params[name] <= most:
            raise _errors.BadInput("%s %d is out of bounds; give a number from %d to %d" % (
                name, params[name], least, most))
    host, node = open_asked(params)
    if params["rollback_token"] is not None:
        return confirm(host, params["rollback_token"], check_mode)
    return _look_and_clean(Context(host, node), params, check_mode)


def _look_and_clean(context, params, check_mode):
    """Look, and unless `check_mode` or refused, clean."""
    diff = []
    try:
        _must_be_live(context)
        if check_mode:
            lock.refuse_busy(context.host)
        with lock.one_run(context.host, check_mode):
            diff = _clean(context, params, check_mode)
    except (Refused, lock.Busy) as error:
        context.result["refused"] = str(error)
    return dict(context.result, changed=bool(diff), diff=diff)


def _clean(context, params, check_mode):
    """[diff] of the tables to clean. Raises Refused."""
    work = _plan(context, params)
    context.result["removed"] = [
        {"family": each.family, "table": each.removal.table, "chain": chain, "rules": len(each.removal.rules[chain])}
        for each in work for chain in each.removal.chains]
    if work:
        rollback = Rollback(context.host, context.boot_id, work, params["rollback_seconds"])
        rollback.must_be_writable()
        if not check_mode:
            lock.must_be_held(context.host)
            rollback.arm()
            _carry_out(context.host, rollback)
        context.result["rollback"] = rollback.state()
    return [_diff(each) for each in work]


def _must_be_live(context):
    if context.node["place"] != "live":
        raise Refused("only a live node has rules; this is of kind %s" % context.node["place"])
    if not context.host.is_root():
        raise _errors.ChangeFailed("cleaning rules needs root; become root. Nothing was changed")


def _plan(context, params):
    """[Cleaning] of each table, in the order in which they are worked on. Raises Refused."""
    host, node, result = context.host, context.node, context.result
    evidence = collect_iptables_backend(host, node, context.rules)
    backend = _in_use(evidence, params["backend"])
    other = BACKENDS[1 - BACKENDS.index(backend)]
    result.update(backend=backend, backend_because="the node's iptables programs use it")
    result["conflicts"] = conflicts_of(evidence, backend)
    result["left"] = left_in(context.rules, [other])
    if context.rules.unread:
        raise Refused("not all rules could be read: %s" % context.rules.unread[0]["evidence"])
    waiting = still_armed(host, context.boot_id)
    if waiting:
        raise Refused("an earlier cleaning still waits for its confirmation; confirm it with rollback_token: %s, or "
                      "wait until it is rolled back" % waiting)
    if not anchors.own_chains(context.rules, other):
        return []
    fixed = next((row for row in evidence["containers"] if row["comm"] == "kube-proxy" and row["backend"] == other),
                 None)
    if fixed:
        raise Refused("the iptables in kube-proxy's container %s uses the %s backend, so these rules are in use"
                      % (fixed["container"] or "", other))
    missing = anchors.not_carried(host, node, context.rules, backend, params)
    if missing:
        raise Refused(missing)
    return _twice_the_same(context, other, params["window_seconds"])


def _in_use(evidence, option):
    backend = evidence["backend"]
    if backend not in BACKENDS:
        raise Refused("iptables and ip6tables use different backends (%s); switch them to one first"
                      % (backend or "a wrapper"))
    if option not in (AUTO, backend):
        raise Refused("the node's iptables programs use the %s backend, so its rules are in use and are not cleaned"
                      % backend)
    return backend


def _twice_the_same(context, backend, seconds):
    """[Cleaning] from two readings of a backend, `seconds` apart."""
    sources = [(family, context.rules.commands["%s_%s" % (backend, family)]) for family in sorted(_PROGRAMS)
               if "%s_%s" % (backend, family) in context.rules.commands]
    early = [_read(context.host, argv) for _family, argv in sources]
    time.sleep(seconds)
    work, packets = [], 0
    for (family, argv), before in zip(sources, early):
        now = _read(context.host, argv)
        change = changed_between(before.tables, now.tables)
        if change:
            raise Refused("rules of the %s backend (%s) are still written: %s between two readings"
                          % (backend, family, change))
        packets += packets_between(before.tables, now.tables)
        work += _of_family(context.host, backend, family, argv, now)
    context.result["sampled"] = {"seconds": seconds, "packets": packets}
    return work


class _Reading:
    def __init__(self, text):
        self.text = text
        self.tables = read_dump(text)


def _read(host, argv):
    try:
        return _Reading(read_save(host, argv + ["-c"]))
    except DumpError as error:
        raise Refused("the output of %s cannot be used: %s" % (argv[-1].rsplit("/", 1)[-1], error)) from error


def _of_family(host, backend, family, argv, now):
    restore = save_command(host, _PROGRAMS[family].replace("save", "restore"), backend)
    found = []
    for name in sorted(now.tables):
        removal = Removal(name, now.tables[name])
        if removal.foreign:
            raise Refused("in table %s of the %s backend (%s) a rule of another program jumps to a chain of "
                          "Kubernetes, so the chain cannot be removed: %s" % (
                              name, backend, family, removal.foreign[0][:200]))
        if removal and restore is None:
            raise Refused("this system has no %s of the %s backend"
                          % (_PROGRAMS[family].replace("save", "restore"), backend))
        if removal:
            found.append(Cleaning(backend, family, removal, argv + ["-c"], restore, now.text))
    return found


def _carry_out(host, rollback):
    """Clean table after table; where one fails everything is put back at once."""
    for each in rollback.work:
        problem = each.clean(host) or each.left(host)
        if problem:
            left, sentence = rollback.back_now()
            raise _errors.ChangeFailed("table %s of the %s backend (%s) was not cleaned: %s. %s" % (
                each.removal.table, each.backend, each.family, problem, sentence), changed=left)


def _diff(each):
    title = "table %s of the %s backend (%s)" % (each.removal.table, each.backend, each.family)
    before, after = changed_lines("".join(line + "\n" for line in each.removal.lines()), "")
    return {"before_header": title, "after_header": title, "before": before, "after": after}
