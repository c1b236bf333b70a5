# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The QEMU of the test nodes: 10.0 of trixie, unpacked once beside the images, whatever QEMU this machine has.

With 7.2 of bookworm each fork on a node takes three times as long, and a boot takes a fifth longer.
"""

import os
import sys

import images
from images import cache

SUITE = "trixie"
PACKAGE = "qemu-system-x86"
LIBRARIES = "usr/lib/x86_64-linux-gnu"


def build():
    """The folder of the unpacked emulator; the first call unpacks it."""
    with cache.locked("images"):
        return cache.made(cache.entry("qemu/" + SUITE, SUITE, PACKAGE), unpack)


def unpack(work):
    if os.geteuid() != 0:
        raise images.ImageError("unpacking the emulator of the test nodes needs root")
    print("testbed: unpacking {0} of {1}".format(PACKAGE, SUITE), file=sys.stderr, flush=True)
    # The packages are only unpacked, not configured, so only QEMU itself runs.
    images.run(["mmdebstrap", "--variant=extract", "--include=" + PACKAGE, "--keyring=" + images.KEYRING, SUITE,
                str(work), images.mirror()])


def command(folder):
    """The first words of a command line that runs this QEMU with its own C library, firmware and modules."""
    return ["env", "QEMU_MODULE_DIR={0}/{1}/qemu".format(folder, LIBRARIES),
            str(folder / LIBRARIES / "ld-linux-x86-64.so.2"), "--library-path", str(folder / LIBRARIES),
            str(folder / "usr/bin/qemu-system-x86_64"), "-L", str(folder / "usr/share/qemu"), "-L",
            str(folder / "usr/share/seabios")]
