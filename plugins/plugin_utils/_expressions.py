# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""JMESPath expressions: compiled once, and told apart from their mistakes. PRIVATE to the collection."""

import functools
import sys

from ..module_utils._errors import BadInput

try:
    import jmespath
    from jmespath.exceptions import JMESPathError
except ImportError:
    jmespath = None

    class JMESPathError(Exception):
        """Stands in where the package is missing, so that this file can still be imported and say so."""


def compiled(expression, where):
    """The expression, ready to search with. Raises BadInput that names `where`."""
    if jmespath is None:
        raise BadInput("The Python package jmespath is missing on the controller; install it for %s" % sys.executable)
    try:
        return _compiled(expression)
    except (JMESPathError, TypeError) as error:
        said = str(error).strip().splitlines() or ["not an expression"]
        raise BadInput("%s is no valid JMESPath expression: %s: %s" % (where, expression, said[0].rstrip(":"))) from None


@functools.lru_cache(maxsize=None)
def _compiled(expression):
    return jmespath.compile(expression)


def search(expression, evidence):
    """(answer, problem); the answer is None where the expression raises or yields null, and the problem says which."""
    try:
        answer = compiled(expression, "select").search(evidence)
    except JMESPathError as error:
        return None, "%s: %s" % (expression, str(error).splitlines()[0])
    return answer, None if answer is not None else "the evidence holds nothing for %s" % expression
