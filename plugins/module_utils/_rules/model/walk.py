# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The traversal of packets through chains of neutral rules, as far as it is certain. PRIVATE to the collection.

In each chain a packet is in one of three groups. `sure`: it comes to the next rule. `unsure`: it does, unless a RETURN
or goto before it took the packet to the end of the chain. `lost`: it does, unless a rule before it accepted the packet.
"""

from .rule import CONTINUE, END, GOTO, JUMP, RETURN, holds

# A chain that leads deeper is in a circle, which no kernel has.
DEPTH_LIMIT = 30


class TooMuch(Exception):
    """More rules than can be tried."""


class Walk:
    """A walk of `packets`, a list of Packet, from one base chain.

    `rules_of(chain)`: its neutral rules. `sought(rule)`: whether the question is about this rule, which then harms the
    packet. `met(rule, chain, sure, perhaps)` is called with the packets that meet such a rule. `limit`: the number of
    tests of a rule with a packet; packets that do not differ in the properties that the rule matches count as one, and
    so does a rule that needs no test. `doubts`: whether `perhaps` is asked for.
    """

    def __init__(self, rules_of, packets, sought, met, limit, doubts=False):
        self._rules_of, self._packets, self._sought, self._met = rules_of, packets, sought, met
        self._doubts, self.left = doubts, limit

    def through(self, chain):
        """(packets that pass the chain, to its policy, packets that may pass it), in their order. Raises TooMuch."""
        passed, lost = self._through(chain, list(range(len(self._packets))), [], [], 0)
        return self._named(passed), self._named(lost)

    def _named(self, numbers):
        return [self._packets[number] for number in sorted(numbers)]

    def _through(self, chain, sure, unsure, lost, depth):
        """({packets that pass the chain}, {packets that pass it unless they were accepted in it or before})."""
        if depth == DEPTH_LIMIT:
            return set(), set(sure + unsure + lost)
        passed, lost_before = set(), set()
        for rule in self._rules_of(chain):
            if not sure and not unsure and not (lost and self._doubts):
                break
            sought = self._sought(rule)
            if rule.verdict == CONTINUE and not sought:
                self._spend()
                continue
            known = {}
            yes, maybe, no = self._split(rule, sure, sought, known)
            unsure_yes, unsure_maybe, unsure_no = self._split(rule, unsure, sought, known)
            lost_yes, lost_maybe, lost_no = self._split(rule, lost if self._doubts else [], sought, known)
            stays, lost_on = maybe + unsure_maybe, lost_maybe + lost_no
            if sought:
                self._met(rule, chain, self._named(yes), self._named(stays + unsure_yes + lost_yes + lost_maybe))
            if rule.verdict in (JUMP, GOTO):
                through, lost_in = self._through(rule.target, yes, stays + unsure_yes, lost_yes + lost_maybe, depth + 1)
                if rule.verdict == JUMP:
                    lost_before.update(lost_in.intersection(unsure))
                    kept = through.union(no, unsure_no)
                    sure, unsure = _those(sure, kept), _those(unsure, kept)
                    lost = sorted(lost_in.union(lost_on))
                else:
                    passed.update(through.difference(stays))
                    lost_before.update(lost_in)
                    sure, unsure, lost = no, unsure_no + _those(stays, through), lost_on + _those(stays, lost_in)
            elif rule.verdict == RETURN:
                passed.update(yes, unsure_yes)
                lost_before.update(lost_yes, lost_maybe)
                sure, unsure, lost = no, unsure_no + stays, lost_on
            elif rule.verdict == END and sought:
                # A packet that may have met this rule meets what follows as certainly as before.
                passed.update(unsure_yes)
                sure, unsure, lost = no + maybe, unsure_no + unsure_maybe, lost_on
            elif rule.verdict == END:
                lost_before.update(unsure_yes, unsure_maybe)
                sure, unsure, lost = no, unsure_no, lost_on + stays
        return passed.union(sure, unsure), lost_before.union(lost)

    def _spend(self):
        self.left -= 1
        if self.left < 0:
            raise TooMuch()

    def _split(self, rule, group, sought, known):
        """(matched, perhaps matched, not matched) of a group of packets; `known`: the results so far."""
        if not group:
            return [], [], []
        if not rule.conditions:
            self._spend()
            return group, [], []
        found = {True: [], None: [], False: []}
        for number in group:
            packet = self._packets[number]
            alike = rule.alike(packet)
            if alike not in known:
                self._spend()
                known[alike] = holds(rule.conditions, packet, sought)
            found[known[alike]].append(number)
        return found[True], found[None], found[False]


def _those(numbers, kept):
    return [number for number in numbers if number in kept]
