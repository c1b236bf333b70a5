# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Modules as bytecode, for nodes with the Python version of the controller. PRIVATE to the collection.

Ansible sends a module as an archive of sources, and the node compiles what it imports at every call: for node_facts
that takes as much CPU time as the rest of the look. Python also runs an archive of `.pyc` files (PEP 273), but not the
bytecode of another Python version: a node with another version refuses the module before it does anything, and gets the
sources.
"""

import base64
import contextlib
import hashlib
import importlib
import importlib.util
import io
import json
import marshal
import pathlib
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping

import ansible

from . import bytecode_compiler, shared

# Compiling takes the controller half a second of CPU time, and saves each node 0.2 s.
MANY_HOSTS = 10

REFUSAL = "kubenode.netfilter: this Python does not run the bytecode of the controller"
# A node of this run has refused bytecode.
_REFUSED = "bytecode-refused"
_GUARD = ("""
try:
    from importlib.util import MAGIC_NUMBER
except ImportError:
    MAGIC_NUMBER = None
if MAGIC_NUMBER != %r:
    raise SystemExit(%r)
""" % (importlib.util.MAGIC_NUMBER, REFUSAL)).encode()
# In a module that Ansible sends: the start of the archive, the only text that begins like a zip file in base64, and the
# start of the program.
_ARCHIVE = b"'UEsDB"
_START = b"\nif __name__ == "
_VERSION = re.compile(r"python(\d+\.\d+)\b")

_PLUGINS = pathlib.Path(__file__).resolve().parents[2]
_OUR_NAME = "ansible_collections/kubenode/netfilter/plugins/"
_ANSIBLE = pathlib.Path(ansible.__file__).resolve().parent


def may_run(command: str) -> bool:
    """Whether the Python that a command starts may have the controller's version; a name with another version, such as
    `/usr/bin/python3.9`, rules that out."""
    versions = _VERSION.findall(command)
    return not versions or "%d.%d" % sys.version_info[:2] in versions


def prepare() -> None:
    """Compile the sources, unless another worker is doing it: then this worker does not wait, and Ansible packs them
    meanwhile."""
    shared.remembered("bytecode", _compile, wait=False)


def sent(module: bytes, execute: Callable[[bytes], dict]) -> dict:
    """The result of `execute(module)`, which is the result of a command; with bytecode in the archive of the module
    until a node of this run refuses it."""
    compiled = None if shared.is_noted(_REFUSED) else with_bytecode(module)
    if compiled is None:
        return execute(module)
    result = execute(compiled)
    if not result["rc"] or REFUSAL not in result["stdout"] + result["stderr"]:
        return result
    shared.note(_REFUSED)
    return execute(module)


def with_bytecode(module: bytes) -> bytes | None:
    """`module`, as Ansible sends it to a node, with bytecode instead of sources; None if it has another form or nothing
    could be compiled."""
    place, start = archive_of(module), module.rfind(_START)
    if not place or start < 0:
        return None
    sources = module[slice(*place)]
    compiled = shared.remembered("bytecode-" + hashlib.sha256(sources).hexdigest(), lambda: _packed(sources))
    if not compiled:
        return None
    return _replaced(module, {place: compiled.encode(), (start, start): _GUARD})


def archive_of(module: bytes) -> tuple[int, int] | None:
    """(begin, end) of the archive, which is base64; None if there is not exactly one."""
    begin = module.find(_ARCHIVE) + 1
    end = module.find(b"'", begin)
    return (begin, end) if begin and end > 0 and module.find(_ARCHIVE, end) < 0 else None


def _replaced(text, parts):
    """`text` with replaced parts; `parts` are {(begin, end): new part}."""
    pieces, end = [], 0
    for place, part in sorted(parts.items()):
        pieces += [text[end:place[0]], part]
        end = place[1]
    return b"".join([*pieces, text[end:]])


def _packed(sources):
    """The archive `sources`, which is base64, with the bytecode of each file that was compiled from the same source: a
    file of the user may have replaced one of Ansible's. Empty if there is nothing to replace."""
    compiled, output = _compiled(), io.BytesIO()
    try:
        old = zipfile.ZipFile(io.BytesIO(base64.b64decode(sources)))
    except (ValueError, zipfile.BadZipFile):
        return ""
    if not compiled:
        return ""
    with old, zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            checksum, code = compiled.get(entry.filename, (None, b""))
            name, content = (entry.filename + "c", code) if checksum == entry.CRC else (entry.filename, old.read(entry))
            new.writestr(zipfile.ZipInfo(name, entry.date_time), content, zipfile.ZIP_DEFLATED)
    return base64.b64encode(output.getvalue()).decode()


def _compiled() -> Mapping[str, tuple[int, bytes]]:
    """The output of _bytecode_compiler for the sources; empty if it fails."""
    with contextlib.suppress(OSError, EOFError, ValueError, TypeError):
        with open(shared.remembered("bytecode", _compile), "rb") as compiled:
            return marshal.load(compiled)
    return {}


def _compile():
    """The path of the file with the compiled sources of this collection, and of the files that Ansible's own modules
    import. A missing or damaged file, as on a full disk, means that nothing is compiled."""
    path = shared.folder() / "kubenode-netfilter-bytecode.marshal"
    sources = {_OUR_NAME + source.relative_to(_PLUGINS).as_posix(): str(source)
               for source in (_PLUGINS / "module_utils").rglob("*.py")}
    sources.update(("ansible/" + pathlib.Path(file).relative_to(_ANSIBLE).as_posix(), file)
                   for file in _files_of_ansible())
    with contextlib.suppress(OSError), open(path, "wb") as output:
        # The columns of each instruction are a quarter of the bytecode; only a new process can leave them out.
        subprocess.run([sys.executable, "-X", "no_debug_ranges", bytecode_compiler.__file__],
                       input=json.dumps(sources).encode(), stdout=output, stderr=subprocess.DEVNULL, check=False)
    return str(path)


def _files_of_ansible():
    """Paths of the files that a module imports from Ansible: the files that the controller read when it imported the
    same."""
    importlib.import_module("ansible.module_utils.basic")
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name.startswith("ansible.module_utils.") and file and _ANSIBLE in pathlib.Path(file).parents:
            yield file
