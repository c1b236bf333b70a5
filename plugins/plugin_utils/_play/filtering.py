# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shared code of all filters. PRIVATE to the collection."""

import functools

from ansible.errors import AnsibleFilterError

from ...module_utils._errors import BadInput
from .._render.text import sentence


def telling(function):
    """The filter `function`, wrapped: a BadInput becomes the error that Ansible shows, with the name of the filter."""

    @functools.wraps(function)
    def with_readable_errors(*args, **options):
        try:
            return function(*args, **options)
        except BadInput as error:
            raise AnsibleFilterError("kubenode.netfilter.%s: %s" % (function.__name__, sentence(error))) from None

    return with_readable_errors
