# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The text of the list of modules below /etc/modules-load.d. PRIVATE to the collection.

A file of the same name that was there before keeps its lines: the modules in it are loaded at boot for other reasons.
"""

HEADER = ("# Modules this node's netfilter needs, loaded at boot. Written by kubenode.netfilter.kernel_modules; "
          "changes are overwritten.\n")
_FOUND = "# The content of this file before, kept:\n"


def is_foreign(text):
    """Whether another program, or a person, wrote the list."""
    return text is not None and not text.startswith(HEADER)


def list_text(names, before):
    """The list with these names in place of `before`; None where it is not needed."""
    theirs = before if is_foreign(before) else (before or "").partition(_FOUND)[2]
    if not names:
        return before if theirs else None
    ours = HEADER + "".join(name + "\n" for name in names)
    return ours + _FOUND + theirs if theirs else ours
