# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Variables of a task as plain values. PRIVATE to the collection."""

from ansible.errors import AnsibleError

from ...module_utils._errors import BadInput
from .._plain import plain


def templating(templar):
    """A function of the name and the value of a variable that returns it templated, and raises BadInput with the name
    if that fails."""

    def templated(name, value):
        try:
            return plain(templar.template(value))
        except AnsibleError as error:
            raise BadInput("%s cannot be templated: %s" % (name, error)) from None

    return templated
