# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Booleans as Go writes them. PRIVATE to the collection.

Sample: `true`, `T`, `0`. Grammar: Go strconv.ParseBool(), which reads every bool flag.
"""

_WORDS = dict([(word, True) for word in ("1", "t", "T", "true", "TRUE", "True")]
              + [(word, False) for word in ("0", "f", "F", "false", "FALSE", "False")])


def parse_go_bool(text):
    """True or False; None for any other text, with which a Go program does not start."""
    return _WORDS.get(text)
