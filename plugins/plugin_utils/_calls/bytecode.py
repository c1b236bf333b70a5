# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Modules as bytecode, for nodes with the Python version of the controller. PRIVATE to the collection.

Ansible sends a module as an archive of sources, and the node compiles what it imports at every call: for node_facts
that takes as much CPU time as the rest of the look. Python also runs an archive of `.pyc` files (PEP 273), but not the
bytecode of another Python version: a node with another version refuses the module before it does anything, and gets the
sources.

Results of one worker of a run, shared with the workers of all other hosts.

Ansible forks a worker for each task of each host; its memory is lost when it ends. The folder of Ansible's local files
belongs to one run and one user (mode 0700, deleted at its end), so its content is as trustworthy as memory.
"""

import base64
import contextlib
import fcntl
import hashlib
import importlib
import importlib.util
import io
import json
import marshal
import os
import pathlib
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping

import ansible
from ansible import constants

from . import bytecode_compiler


def folder():
    """The folder of Ansible's local files."""
    return pathlib.Path(constants.DEFAULT_LOCAL_TMP)


def remembered(key, make, wait=True):
    """The result of `make()`, a JSON value. The first worker that asks for `key`, a file name, makes it; the others
    wait and read it. Without `wait`: None while another worker makes it. If the folder is not writable, each worker
    makes its own."""
    path = _path(key)
    with _locked(path.with_suffix(".lock"), wait) as locked:
        if locked is None:
            return None
        found = _read(path)
        if found is None:
            found = make()
            if locked:
                _write(path, found)
    return found


def note(key):
    """Makes `is_noted(key)` return true in all workers of this run."""
    _write(_path(key), True)


def is_noted(key):
    return _path(key).exists()


def _path(key):
    return folder() / ("kubenode-netfilter-" + key)


@contextlib.contextmanager
def _locked(path, wait):
    """Whether the lock is held; the end of the process also releases it. None if another process holds it and this one
    does not `wait`."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError:
        yield False
        return
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield None
            return
        yield True
    finally:
        os.close(descriptor)


def _read(path):
    with contextlib.suppress(OSError, ValueError):
        return json.loads(path.read_text(encoding="utf-8"))
    return None


def _write(path, value):
    """Writes a file; a killed worker leaves no half-written file under this name."""
    with contextlib.suppress(OSError):
        unfinished = path.with_suffix(".new")
        unfinished.write_text(json.dumps(value), encoding="utf-8")
        unfinished.replace(path)


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
    remembered("bytecode", _compile, wait=False)


def sent(module: bytes, execute: Callable[[bytes], dict]) -> dict:
    """The result of `execute(module)`, which is the result of a command; with bytecode in the archive of the module
    until a node of this run refuses it."""
    compiled = None if is_noted(_REFUSED) else with_bytecode(module)
    if compiled is None:
        return execute(module)
    result = execute(compiled)
    if not result["rc"] or REFUSAL not in result["stdout"] + result["stderr"]:
        return result
    note(_REFUSED)
    return execute(module)


def with_bytecode(module: bytes) -> bytes | None:
    """`module`, as Ansible sends it to a node, with bytecode instead of sources; None if it has another form or nothing
    could be compiled."""
    place, start = archive_of(module), module.rfind(_START)
    if not place or start < 0:
        return None
    sources = module[slice(*place)]
    compiled = remembered("bytecode-" + hashlib.sha256(sources).hexdigest(), lambda: _packed(sources))
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
        with open(remembered("bytecode", _compile), "rb") as compiled:
            return marshal.load(compiled)
    return {}


def _compile():
    """The path of the file with the compiled sources of this collection, and of the files that Ansible's own modules
    import. A missing or damaged file, as on a full disk, means that nothing is compiled."""
    path = folder() / "kubenode-netfilter-bytecode.marshal"
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
