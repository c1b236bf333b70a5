# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel's command line. PRIVATE to the collection.

Sample: `root=/dev/vda1 ro modprobe.blacklist=ip_vs,ip_tables modules_load=br_netfilter`
Grammar: kernel lib/cmdline.c next_arg(): blanks separate words, double quotes keep a word together.
"""


def parse_kernel_cmdline(text):
    """[(key, value)] in order; a bare word has the value None. Words after `--` belong to init and are left out."""
    pairs = []
    for word in _words(text):
        if word == "--":
            break
        key, equals, value = word.partition("=")
        pairs.append((key, value if equals else None))
    return pairs


def _words(text):
    word, quoted, words = "", False, []
    for character in text:
        if character == '"':
            quoted = not quoted
        elif character.isspace() and not quoted:
            if word:
                words.append(word)
            word = ""
        else:
            word += character
    return words + ([word] if word else [])
