# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel of `make test`, and its scenario beside `everything`."""

import collections

from changes import git

# As tests/testbed/images.py and the folder molecule have them; a test compares.
KERNELS = ("6.1", "6.12", "7.2")
SCENARIOS = ("backend", "hooks", "image", "conntrack", "default", "rules")

Choice = collections.namedtuple("Choice", "kernel scenario")


def of_commit(number):
    """Return the Choice for the commit with this number: the next one has another kernel and another scenario, and 18
    have each kernel with each scenario."""
    rounds, scenario = divmod(number, len(SCENARIOS))
    return Choice(KERNELS[(number + rounds) % len(KERNELS)], SCENARIOS[scenario])


def of_run(environ):
    """Return the Choice of KERNEL and SCENARIO, or of this commit; raise ValueError with a sentence for an unknown
    one."""
    default = of_commit(int(git("rev-list", "--count", "HEAD") or 0))
    return Choice(_asked("KERNEL", environ, KERNELS, default.kernel),
                  _asked("SCENARIO", environ, SCENARIOS, default.scenario))


def _asked(name, environ, known, default):
    value = environ.get(name) or default
    if value not in known:
        raise ValueError("%s=%s is not known; use one of %s" % (name, value, ", ".join(known)))
    return value
