# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sources that a test node compiles before its snapshot, so that it does not compile the same modules for each
task: see compiled_sources.py."""

import importlib.util
import io
import pathlib
import tarfile

HERE = pathlib.Path(__file__).resolve().parent
COLLECTION = HERE.parents[1]
PLACE = "var/cache/testbed"
# Debian's Python reads this .pth file at each start: a line adds an entry to its path, the next line is executed.
AT_START = ("usr/lib/python3/dist-packages/testbed.pth", "/{0}\nimport compiled_sources\n".format(PLACE))
UNPACK_AND_COMPILE = "tar --extract --gzip --directory=/ && python3 /{0}/compiled_sources.py".format(PLACE)


def folders():
    """The folders whose sources Ansible sends to a node; only those of the collection if this Python has no
    Ansible."""
    found = [COLLECTION / "plugins" / "modules", COLLECTION / "plugins" / "module_utils"]
    ansible = importlib.util.find_spec("ansible")
    return found + [pathlib.Path(place) / "module_utils"
                    for place in (ansible.submodule_search_locations if ansible else [])]


def archive():
    """The bytes of an archive for UNPACK_AND_COMPILE."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz", compresslevel=3) as tar:
        for number, folder in enumerate(folders()):
            for path in sorted(folder.rglob("*.py")):
                add(tar, "{0}/sources/{1}/{2}".format(PLACE, number, path.relative_to(folder)), path.read_bytes())
        program = HERE / "compiled_sources.py"
        add(tar, "{0}/{1}".format(PLACE, program.name), program.read_bytes())
        add(tar, AT_START[0], AT_START[1].encode())
    return packed.getvalue()


def add(tar, name, content):
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(content), 0o644
    tar.addfile(member, io.BytesIO(content))
