# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The QEMU that runs the test nodes: trixie's 10.0, unpacked once beside the images, whatever the machine itself has.

A node under bookworm's 7.2 pays three times as much for each fork, and a fifth more for its boot.
"""

import fcntl
import os
import pathlib
import shutil
import sys
import tempfile

import images

SUITE = "trixie"
PACKAGE = "qemu-system-x86"
LIBRARIES = "usr/lib/x86_64-linux-gnu"


def build():
    """The folder of the unpacked emulator, unpacked if there is none yet."""
    final = images.CACHE / ("qemu-" + SUITE)
    with open(str(images.CACHE / "lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not final.is_dir():
            unpack(final)
    return final


def unpack(final):
    if os.geteuid() != 0:
        raise images.ImageError("unpacking the emulator of the test nodes needs root")
    print("testbed: unpacking {0} of {1}".format(PACKAGE, SUITE), file=sys.stderr, flush=True)
    work = pathlib.Path(tempfile.mkdtemp(prefix=".building-", dir=str(final.parent)))
    try:
        # Unpacked only: none of its packages is set up, so nothing of it runs but QEMU itself.
        images.run(["mmdebstrap", "--variant=extract", "--include=" + PACKAGE, "--keyring=" + images.KEYRING, SUITE,
                    str(work), images.mirror()])
        work.rename(final)
    finally:
        shutil.rmtree(str(work), ignore_errors=True)


def command(folder):
    """The start of a command line that runs it with its own C library, firmware and modules."""
    return ["env", "QEMU_MODULE_DIR={0}/{1}/qemu".format(folder, LIBRARIES),
            str(folder / LIBRARIES / "ld-linux-x86-64.so.2"), "--library-path", str(folder / LIBRARIES),
            str(folder / "usr/bin/qemu-system-x86_64"), "-L", str(folder / "usr/share/qemu"), "-L",
            str(folder / "usr/share/seabios")]
