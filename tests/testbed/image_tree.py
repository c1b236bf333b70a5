# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Unpack a system tree with two kernels, like the tree of an image build before it is packed and booted.

    image_tree.py DIR     DIR must not exist yet
"""

import pathlib
import sys

import images

SYSTEM, SECOND_KERNEL = "node61", "node612"


def unpack(target):
    built, _left_out = images.build_all([SYSTEM, SECOND_KERNEL])
    target.mkdir(parents=True)
    extract = ["tar", "--numeric-owner", "--xattrs", "-C", str(target), "-xf"]
    images.run(extract + [str(built[SYSTEM] / "rootfs.tar"), "--exclude=./usr/share/doc",
                          "--exclude=./usr/share/locale"])
    # Without the index: Debian's kernel packages have none, and depmod makes it for this tree.
    images.run(extract + [str(built[SECOND_KERNEL] / "rootfs.tar"), "--wildcards", "--exclude=modules.dep*",
                          "--exclude=modules.alias*", "--exclude=modules.symbols*", "./usr/lib/modules/*", "./boot/*"])
    for release in (target / "usr/lib/modules").iterdir():
        images.run(["depmod", "-b", str(target), release.name])


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    try:
        unpack(pathlib.Path(sys.argv[1]))
    except (images.ImageError, FileExistsError) as error:
        sys.exit("testbed: {0}".format(error))


if __name__ == "__main__":
    main()
