# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Several modules in one call."""

import traceback

from .. import _errors
from .._host.lock import one_call

SUBJECTS = ("kernel_modules", "conntrack", "flush_hooks", "iptables_backend")


def _plan_of(subject):
    """The file with the OPTIONS, RULES and run() of a subject. Ansible sends every file that is imported anywhere, but
    Python compiles only files that are imported at run time, so only this one is imported."""
    if subject == "kernel_modules":
        from .modules import plan
    elif subject == "conntrack":
        from .conntrack import plan
    elif subject == "flush_hooks":
        from .hooks import plan
    elif subject == "iptables_backend":
        from .backends import plan
    else:
        raise KeyError(subject)
    return plan


def each_under_one_lock(call, changes):
    """[what `call` returns for each of `changes`], which may be of several subjects, as one run."""
    with one_call():
        return [call(change) for change in changes]


def result_of(subject, options, check_mode, validated):
    """What the module `subject` returns for unchecked options, as a dict with `failed` where it fails.
    `validated(options, argument_spec, **rules)` gives (options in their types, [message]). Any exception becomes a
    result too: the changes of other subjects are made by then and must be reported."""
    plan = _plan_of(subject)
    params, messages = validated(options, plan.OPTIONS, **plan.RULES)
    if messages:
        return {"failed": True, "msg": "; ".join(messages)}
    try:
        return plan.run(params, check_mode)
    except (_errors.BadInput, _errors.ChangeFailed) as error:
        return dict(error.result(), failed=True)
    except Exception as error:
        return {"failed": True, "msg": "%s: %s" % (type(error).__name__, error), "exception": traceback.format_exc()}
