# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The batches of a rollout, the hosts of a playbook, and when a rollout ends. PRIVATE to the collection."""

import re

from ...module_utils._errors import BadInput
from .._options import close_to
from .._render.text import some

# A message names at most this many groups.
_NAMED = 5
_SIZE = re.compile(r"([0-9]+)(%?)\Z")


def checked_serial(value, name):
    """`value` as a list of batch sizes: whole numbers from 1 on, and percentages such as "10%". Raises BadInput."""
    sizes = value if isinstance(value, list) else [value]
    if not sizes:
        raise BadInput("%s is an empty list; give the sizes of the batches, such as [1, \"10%%\", \"100%%\"]" % name)
    return [_checked_size(size, name) for size in sizes]


def _checked_size(size, name):
    text = "" if isinstance(size, (bool, float)) else str(size).strip()
    match = _SIZE.match(text)
    number = int(match.group(1)) if match else 0
    if not match or number < 1 or match.group(2) and number > 100:
        raise BadInput("%s: %r is not a batch size; give a whole number of at least 1, a percentage from \"1%%\" to "
                       "\"100%%\", or a list of them" % (name, size))
    return text if match.group(2) else number


def checked_percentage(value, name):
    """`value` as a whole number from 0 to 100; "30%" is taken, too. Raises BadInput."""
    match = _SIZE.match("" if isinstance(value, (bool, float)) else str(value).strip())
    if not match or int(match.group(1)) > 100:
        raise BadInput("%s is %r, but must be a whole number from 0 to 100" % (name, value))
    return int(match.group(1))


def checked_limit(name, value):
    """(number, whether it is a percentage) of a limit of hosts such as 3 or "10%"; None for an empty text or null.
    Raises BadInput."""
    text = "" if isinstance(value, (bool, float)) else str(value).strip()
    if value is None or value == "":
        return None
    match = _SIZE.match(text)
    if not match or match.group(2) and int(match.group(1)) > 100:
        raise BadInput("%s is %r, but must be a whole number of hosts from 0 on, or a percentage from \"0%%\" to "
                       "\"100%%\"" % (name, value))
    return int(match.group(1)), bool(match.group(2))


def batch_of(names, serial, host):
    """(hosts of the batch that `host` is in, hosts of later batches), by the rules of Ansible's `serial`."""
    sizes, left, index = serial or ["100%"], list(names), 0
    while left:
        size = _number(sizes[min(index, len(sizes) - 1)], len(names))
        batch, left, index = left[:size], left[size:], index + 1
        if host in batch:
            return batch, left
    return [], []


def _number(size, hosts):
    text = str(size)
    number = int(int(text[:-1]) / 100.0 * hosts) or 1 if text.endswith("%") else int(text)
    return number if number > 0 else hosts


def ends(lost, batch, percentage):
    """True where more than `percentage` of the hosts of a batch are blocked, failed or unreachable."""
    return len(lost) * 100 > len(batch) * percentage


def exceeds(lost, names, limit):
    """True where more hosts of a play are lost than `limit` of `checked_limit` allows."""
    if limit is None:
        return False
    number, percent = limit
    return len(lost) * 100 > len(names) * number if percent else len(lost) > number


def check_hosts(name, pattern, matches, groups, limit):
    """Raises BadInput where the pattern that the variable `name` holds matches no host of `groups`, {group: hosts}."""
    if matches:
        return
    if not any(groups.values()):
        raise BadInput("The inventory has no host. Add -i INVENTORY; for this machine: -i localhost, -c local")
    text = pattern if isinstance(pattern, str) else ",".join(str(part) for part in pattern)
    if text in groups and not groups[text]:
        others = sorted(group for group in groups if groups[group] and group not in ("all", "ungrouped"))
        raise BadInput("%s: the group %s has no host. Add hosts to it%s" % (
            name, text, ", or name another: %s" % some(others, _NAMED) if others else " in the inventory"))
    known = set(groups).union(*groups.values())
    near = None if text in known else close_to(text, known)
    raise BadInput("%s: %s matches no host%s%s" % (
        name, text or "an empty text", " within --limit %s" % limit if limit else "",
        "; did you mean %s?" % near if near else ". All names: ansible-inventory --graph, with the same -i"))


def check_tags(tags, known):
    """Raises BadInput for an unknown tag that is very close to a tag of the playbooks; other tags may belong to other
    plays."""
    for tag in tags:
        near = None if tag in known else close_to(tag, known, cutoff=0.82)
        if near:
            raise BadInput("--tags: the tag %s is not known; did you mean %s?" % (tag, near))
