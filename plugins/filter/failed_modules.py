# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter kubenode.netfilter.failed_modules."""

DOCUMENTATION = r"""
name: failed_modules
short_description: What M(kubenode.netfilter.kernel_modules) could not do, for M(kubenode.netfilter.assess)
version_added: 0.1.0
description:
  - Turns the result of M(kubenode.netfilter.kernel_modules) into O(kubenode.netfilter.assess#module:attempts).
options:
  _input:
    description: A registered result.
    type: dict
    required: true
author:
  - kubenode.netfilter contributors (@kubenode)
"""

EXAMPLES = r"""
- name: Assess again and say what was tried
  kubenode.netfilter.assess:
    attempts: "{{ result | kubenode.netfilter.failed_modules }}"
"""

RETURN = r"""
_value:
  description: One row for each module that failed.
  type: list
  elements: dict
"""

from ..plugin_utils import _select
from ..plugin_utils._filtering import telling
from ..plugin_utils._plain import plain


@telling
def failed_modules(result):
    """Type check and call."""
    return _select.failed_modules(plain(result))


class FilterModule:
    """Filters of this file."""

    def filters(self):
        return {"failed_modules": failed_modules}
