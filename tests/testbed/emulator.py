# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The QEMU of the test nodes: 10.0 of trixie, unpacked once beside the images, whatever QEMU this machine has.

With 7.2 of bookworm each fork on a node takes three times as long, and a boot takes a fifth longer.
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
    """The folder of the unpacked emulator; the first call unpacks it."""
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
        # The packages are only unpacked, not configured, so only QEMU itself runs.
        images.run(["mmdebstrap", "--variant=extract", "--include=" + PACKAGE, "--keyring=" + images.KEYRING, SUITE,
                    str(work), images.mirror()])
        work.rename(final)
    finally:
        shutil.rmtree(str(work), ignore_errors=True)


def command(folder):
    """The first words of a command line that runs this QEMU with its own C library, firmware and modules."""
    return ["env", "QEMU_MODULE_DIR={0}/{1}/qemu".format(folder, LIBRARIES),
            str(folder / LIBRARIES / "ld-linux-x86-64.so.2"), "--library-path", str(folder / LIBRARIES),
            str(folder / "usr/bin/qemu-system-x86_64"), "-L", str(folder / "usr/share/qemu"), "-L",
            str(folder / "usr/share/seabios")]
