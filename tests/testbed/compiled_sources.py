# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cache of compiled code on a test node, for sources that Ansible sends again and again.

With each task Ansible sends a module and its imports as sources in a zip archive, and Python compiles imports from an
archive each time. That takes a tenth of a second on a real node, but is a third of the work of most tasks on an
emulated node.

    compiled_sources.py     compile and cache all files in sources/ beside this file

Python compiles sources that are not in the cache as usual. A task never writes to the cache.
"""

import _imp
import marshal
import os
import zipimport

FOLDER = os.path.dirname(os.path.abspath(__file__))
compile_source = zipimport._compile_source


def place(source):
    return os.path.join(FOLDER, "code", _imp.source_hash(0, source).hex())


def kept(path, source):
    try:
        with open(place(source), "rb") as code:
            return marshal.load(code)
    except OSError:
        return compile_source(path, source)


def keep():
    os.makedirs(os.path.join(FOLDER, "code"), exist_ok=True)
    for folder, _folders, names in os.walk(os.path.join(FOLDER, "sources")):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as stream:
                source = stream.read()
            with open(place(source), "wb") as code:
                marshal.dump(compile(source, path, "exec", dont_inherit=True), code)


zipimport._compile_source = kept

if __name__ == "__main__":
    keep()
