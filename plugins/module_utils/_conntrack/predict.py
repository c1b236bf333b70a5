# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The predicted value of a sysctl after the next boot and after kube-proxy's next start, and what sets it. PRIVATE to
the collection."""

import re
from collections import namedtuple

from . import kube_proxy
from .keys import BUCKETS, names_of
from .kernel_default import rounded_buckets

# A line of sysctl.d that sets a key; where: `path:line`.
Assignment = namedtuple("Assignment", "value where")
# A later write by a program. apply: previous value (None: unknown) -> written value (None: not predictable); sure:
# whether the key certainly exists by then, even where its module is loaded late.
Write = namedtuple("Write", "key by apply sure")
# value: int or text, None where it is unknown; by: the line or program that sets it, None for the default of the
# kernel.
Stage = namedtuple("Stage", "value by")


def number(text):
    """A sysctl value as an int where it is a number, otherwise as text."""
    text = text.strip()
    return int(text) if re.match(r"-?[0-9]{1,18}\Z", text) else text[:64]


def at_boot(key, early, assignment, default, writes):
    """The `Stage` before kube-proxy starts.

    `early` is whether the key exists when sysctl.d is read (None: unknown), `default` the `Stage` from the kernel and
    the options of its modules.
    """
    stage = default
    if assignment is not None and early is not False:
        stage = Stage(_stored(key, assignment.value) if early else None, assignment.where)
    for write in writes:
        if write.key in names_of(key):
            stage = Stage(write.apply(stage.value) if early or write.sure else None, write.by)
    return stage


def after_kube_proxy(stage, wish, by, fields):
    """The `Stage` after kube-proxy, or the program that sets its limits (`by`), has started."""
    value = kube_proxy.after_its_start(stage.value, wish)
    if wish.rule == kube_proxy.LEAVES or (value is not None and value == stage.value and wish.value != value):
        return stage
    return Stage(value, "%s (%s)" % (by, fields))


def overruled(assignment, key, final):
    """Whether a later write overrides a line of sysctl.d; None where that is unknown."""
    if assignment is None:
        return False
    return None if final.value is None else final.value != _stored(key, assignment.value)


def survives(now, final):
    """Whether the running value equals the value of the final stage; None where one of them is unknown."""
    return None if now is None or final.value is None else now == final.value


def _stored(key, text):
    value = number(text)
    return rounded_buckets(value) if key == BUCKETS and isinstance(value, int) and value > 0 else value
