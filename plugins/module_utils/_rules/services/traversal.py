# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The traversal of a packet through the chains of one table, as far as it is certain. PRIVATE to the collection."""

from ..others.owners import KUBERNETES, POLICIES, owner_of
from ..rules import states
from ..targets import REFUSALS, TERMINAL
from .packet import meets

STEPS_LIMIT, DEPTH_LIMIT = 20000, 30
# How a packet may leave a chain without being refused: at its end, or unpredictably.
_PASSED, _LOST = "passed", "lost"


class Traversal:
    """Traversals of one table up to a rule with one of the targets `ends`, but not beyond a jump to the chain `until`.

    A rule with a target that is not terminal counts as an end only if `is_end` is true for it.
    """

    def __init__(self, table, ends=REFUSALS, until=None, is_end=None):
        self._table = table
        self._ends, self._until, self._is_end = ends, until, is_end
        self._steps = 0
        self._accepting = {}

    def end(self, hook, packet):
        """The rule at which `packet` certainly ends, or None: it passes, may be accepted before, or is not
        predictable."""
        end = self._from(hook, packet)
        return None if end in (_PASSED, _LOST) else end

    def passes(self, hook, packet):
        """True if no rule certainly takes `packet` and no rule may accept it: the policy decides."""
        return self._from(hook, packet) == _PASSED

    def _from(self, hook, packet):
        self._steps = STEPS_LIMIT
        return self._through(hook, packet, True, 0)

    def _through(self, name, packet, certain, depth):
        """The rule at which the packet ends, or how it leaves the chain; `certain`: the packet certainly reaches the
        chain."""
        for rule in self._table.chains[name].rules:
            self._steps -= 1
            if self._steps < 0 or (self._until and rule.target == self._until):
                return _LOST
            leads = rule.target in self._table.chains
            if not leads and rule.target not in TERMINAL and not (self._is_end and rule.target in self._ends
                                                                  and self._is_end(rule)):
                continue
            answer = meets(rule, packet) if rule.has_match else True
            if answer is False:
                continue
            sure = certain and answer is True
            if leads:
                end = self._into(rule.target, packet, sure, depth)
            else:
                # In a built-in chain a RETURN leads to the policy of the chain.
                returns = rule.target == "RETURN" and (depth or self._until is None)
                end = _PASSED if returns else rule if rule.target in self._ends else _LOST
            if end == _LOST or (sure and (end != _PASSED or rule.goto or not leads)):
                return end
            # The packet may have left the chain or been refused; otherwise it meets the rules that follow.
            certain = certain and not (rule.goto or rule.target == "RETURN")
        return _PASSED

    def _into(self, name, packet, sure, depth):
        owner = owner_of(name, self._table.name)
        if owner in KUBERNETES:
            return _PASSED  # They refuse for Services without endpoints, and accept replies and masqueraded packets.
        if owner in POLICIES:
            return _LOST if self._may_accept(name) else _PASSED
        return self._through(name, packet, sure, depth + 1) if depth < DEPTH_LIMIT else _LOST

    def _may_accept(self, name):
        """True if a rule of the chain, or of one it leads to, accepts more than replies."""
        if name not in self._accepting:
            seen, waiting, found = {name}, [name], False
            while waiting and not found:
                for rule in self._table.chains[waiting.pop()].rules:
                    if rule.target in self._table.chains and rule.target not in seen:
                        seen.add(rule.target)
                        waiting.append(rule.target)
                    elif rule.target == "ACCEPT" and (not rule.has_match or not states(rule) or "NEW" in states(rule)):
                        found = True
            self._accepting[name] = found
        return self._accepting[name]
