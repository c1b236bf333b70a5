# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compiles sources, as a program of its own. PRIVATE to the collection.

Standard input: a JSON object {name: path}. Standard output, in the format of marshal: {name: (CRC-32 of the source,
content of a `.pyc` file without docstrings)}, without the files that cannot be compiled.
"""

import contextlib
import importlib.util
import json
import marshal
import sys
import zlib

# A `.pyc` file that is not compared with its source (PEP 552): magic number, flags, and an unused hash.
_HEADER = importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + bytes(8)


def main():
    compiled = {}
    for name, path in json.load(sys.stdin).items():
        with contextlib.suppress(OSError, SyntaxError, ValueError):
            with open(path, "rb") as file:
                source = file.read()
            code = compile(source, name, "exec", dont_inherit=True, optimize=2)
            compiled[name] = (zlib.crc32(source), _HEADER + marshal.dumps(code))
    marshal.dump(compiled, sys.stdout.buffer)


if __name__ == "__main__":
    main()
