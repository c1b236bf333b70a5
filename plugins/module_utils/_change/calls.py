# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Several modules in one call."""

import traceback

from .. import _errors
from .._host.lock import one_call


# Ansible sends every file that is imported anywhere. Python compiles only files that are imported at run time, so each
# function imports only the module that is called.
def _kernel_modules():
    from .modules import plan
    return plan


def _conntrack():
    from .conntrack import plan
    return plan


def _flush_hooks():
    from .hooks import plan
    return plan


def _iptables_backend():
    from .backends import plan
    return plan


# Subject -> the file with its OPTIONS, RULES and run(). A call imports the subjects that it changes and no other.
_PLANS = {"kernel_modules": _kernel_modules, "conntrack": _conntrack, "flush_hooks": _flush_hooks,
          "iptables_backend": _iptables_backend}
SUBJECTS = tuple(_PLANS)


def each_under_one_lock(call, changes):
    """[what `call` returns for each of `changes`], which may be of several subjects, as one run."""
    with one_call():
        return [call(change) for change in changes]


def result_of(subject, options, check_mode, validated):
    """What the module `subject` returns for unchecked options, as a dict with `failed` where it fails.
    `validated(options, argument_spec, **rules)` gives (options in their types, [message]). Any exception becomes a
    result too: the changes of other subjects are made by then and must be reported."""
    plan = _PLANS[subject]()
    params, messages = validated(options, plan.OPTIONS, **plan.RULES)
    if messages:
        return {"failed": True, "msg": "; ".join(messages)}
    try:
        return plan.run(params, check_mode)
    except (_errors.BadInput, _errors.ChangeFailed) as error:
        return dict(error.result(), failed=True)
    except Exception as error:
        return {"failed": True, "msg": "%s: %s" % (type(error).__name__, error), "exception": traceback.format_exc()}
