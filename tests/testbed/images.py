# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Build the root file systems and disks of the test nodes, once per recipe.

    images.py [NODE ...]      build missing images and print the folder of each image

An image is an entry of tests/tools/cache.py with rootfs.tar, disk.img, vmlinuz, initrd.img. Its recipe is all inputs
of the image, so an unchanged recipe is never built twice.
"""

import concurrent.futures
import contextlib
import hashlib
import inspect
import os
import pathlib
import shutil
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(TOP / "tests" / "tools"))

import cache

# What one checkout keeps of its run; two checkouts may have nodes at the same time.
RUN = TOP / ".cache" / "testbed"
LEFT_OUT = RUN / "left_out.txt"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"

# {program or file that this machine needs: its Debian package}.
TOOLS = {
    "mmdebstrap": "mmdebstrap",
    "mke2fs": "e2fsprogs",
    "ssh": "openssh-client",
    KEYRING: "debian-archive-keyring",
}

# node -> suite; `floats` marks a suite that on some days has packages that cannot be installed, or an expired Release
# file.
NODES = {
    "node61": {"suite": "bookworm", "kernel": "6.1", "floats": False},
    "node612": {"suite": "trixie", "kernel": "6.12", "floats": False},
    "node72": {"suite": "sid", "kernel": "7.2", "floats": True},
}

PACKAGES = (
    "systemd systemd-sysv dbus udev python3 openssh-server kmod iptables nftables ipset ipvsadm conntrack iproute2 "
    "procps initramfs-tools linux-image-cloud-amd64"
).split()

# Clean-up timers would run in the middle of a scenario. The other units make every emulated boot seconds longer.
MASKED = (
    "apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service fstrim.timer "
    "logrotate.timer systemd-networkd-wait-online.service ipvsadm.service getty@tty1.service serial-getty@ttyS0.service"
).split()

# An initial ramdisk with only the drivers of this machine type has a third of the size and unpacks faster.
INITRAMFS = {
    "etc/initramfs-tools/conf.d/testbed": "MODULES=list\n",
    "usr/share/initramfs-tools/modules.d/testbed": "virtio_pci\nvirtio_blk\next4\n",
}

NETWORK = "[Match]\nName=e*\n\n[Network]\nDHCP=yes\n"


class ImageError(Exception):
    """An image cannot be built on this machine; the message is the reason."""


def ensure_tools():
    """Install missing packages if root; otherwise raise an error that names them."""
    missing = sorted({package for tool, package in TOOLS.items() if not (shutil.which(tool) or os.path.exists(tool))})
    if not missing:
        return
    if os.geteuid() != 0:
        raise ImageError("the test nodes need these Debian packages: " + " ".join(missing))
    env = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    run(["apt-get", "update", "-q"], env=env)
    run(["apt-get", "install", "-y", "-q", "--no-install-recommends"] + missing, env=env)


def run(command, **options):
    """Run a command quietly; its output is part of the error when it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True,
                          check=False, **options)
    if done.returncode != 0:
        raise ImageError("{0} ended with {1}:\n{2}".format(" ".join(command), done.returncode, done.stdout[-2000:]))
    return done.stdout


def ssh_key():
    """The key that opens every test node; made once per cache."""
    key = cache.FOLDER / "id_ed25519"
    if not key.exists():
        cache.FOLDER.mkdir(parents=True, exist_ok=True)
        run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "testbed", "-f", str(key)])
    return key


def recipe(node):
    """All inputs of the image of a node."""
    return {
        "suite": NODES[node]["suite"],
        "packages": PACKAGES,
        "masked": MASKED,
        "initramfs": INITRAMFS,
        "network": NETWORK,
        "authorized_keys": ssh_key().with_suffix(".pub").read_text(),
        "disk": "ext4 3G",
        "steps": [inspect.getsource(step) for step in (make_rootfs, customise, make_disk)],
    }


def mirror():
    """The Debian mirror from which this machine installs packages."""
    listing = run(["apt-get", "indextargets", "--format", "$(SITE)|$(LABEL)", "Created-By: Packages"])
    targets = [line.split("|") for line in listing.splitlines()]
    # Without package lists there are no labels, but the sources still have the site.
    for site, label in targets:
        if label == "Debian" or (not label and site.rstrip("/").endswith("/debian")):
            return site
    raise ImageError("no Debian mirror among this machine's apt sources: " + repr(targets))


def make_rootfs(node, target):
    suite = NODES[node]["suite"]
    options = ["--variant=minbase", "--include=" + ",".join(PACKAGES), "--keyring=" + KEYRING]
    for path, text in INITRAMFS.items():
        write = 'mkdir -p "$1/{0}" && printf "{1}" > "$1/{2}"'.format(os.path.dirname(path), text, path)
        options.append("--essential-hook=" + write.replace("\n", "\\n"))
    if NODES[node]["floats"]:
        options.append('--aptopt=Acquire::Check-Valid-Until "false"')
    run(["mmdebstrap"] + options + [suite, str(target), mirror()])


def customise(root, node):
    """Change the tree so that it boots as a machine with ssh on its first network interface."""
    files = {
        "etc/hostname": node + "\n",
        "etc/hosts": "127.0.0.1 localhost\n127.0.1.1 {0}\n".format(node),
        # A constant machine id. With an empty one, systemd treats the boot as a "first boot" and applies presets.
        "etc/machine-id": hashlib.md5(node.encode()).hexdigest() + "\n",
        "etc/systemd/network/10-testbed.network": NETWORK,
        "root/.ssh/authorized_keys": recipe(node)["authorized_keys"],
    }
    for path, text in files.items():
        (root / path).parent.mkdir(mode=0o700 if ".ssh" in path else 0o755, parents=True, exist_ok=True)
        (root / path).write_text(text)
    units = root / "etc/systemd/system"
    for unit in MASKED:
        with contextlib.suppress(FileNotFoundError):
            (units / unit).unlink()
        (units / unit).symlink_to("/dev/null")
    wants = units / "multi-user.target.wants"
    wants.mkdir(exist_ok=True)
    wanted = wants / "systemd-networkd.service"
    if not wanted.is_symlink():
        wanted.symlink_to("/lib/systemd/system/systemd-networkd.service")


def make_disk(node, work):
    """rootfs.tar -> disk.img, vmlinuz, initrd.img; mke2fs -d needs neither loop devices nor mounts."""
    root = work / "tree"
    root.mkdir()
    run(["tar", "--numeric-owner", "--xattrs", "-xf", str(work / "rootfs.tar"), "-C", str(root)])
    customise(root, node)
    for name in ("vmlinuz", "initrd.img"):
        shutil.copyfile(str(next((root / "boot").glob(name + "-*"))), str(work / name))
    run(["mke2fs", "-q", "-t", "ext4", "-d", str(root), str(work / "disk.img"), "3G"])
    shutil.rmtree(str(root))


def build(node):
    """The image folder of a node; builds the image if its recipe has none yet."""
    return cache.made(cache.entry("images/" + node, recipe(node)), lambda work: fill(node, work))


def fill(node, work):
    if os.geteuid() != 0:
        raise ImageError("building the image of {0} needs root".format(node))
    print("testbed: building the image of {0} ({suite})".format(node, **NODES[node]), file=sys.stderr, flush=True)
    make_rootfs(node, work / "rootfs.tar")
    make_disk(node, work)


def build_all(nodes):
    """(node -> folder, node -> reason why it is left out). Only floating suites may be left out; others raise."""
    ensure_tools()
    ssh_key()
    built, left_out = {}, {}
    with cache.locked("images"), concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        jobs = {node: pool.submit(build, node) for node in nodes}
    for node, job in jobs.items():
        try:
            built[node] = job.result()
        except ImageError as error:
            if not NODES[node]["floats"]:
                raise
            left_out[node] = str(error)
    report_left_out(nodes, left_out)
    return built, left_out


def report_left_out(nodes, left_out):
    """Record for the summary which nodes did not take part; the records of other nodes stay."""
    RUN.mkdir(parents=True, exist_ok=True)
    known = LEFT_OUT.read_text().splitlines() if LEFT_OUT.exists() else []
    lines = [line for line in known if line.split()[0] not in nodes]
    for node, why in left_out.items():
        # The first error of apt is the cause; later errors are only its consequences.
        causes = [line for line in why.strip().splitlines() if line.startswith("E: ")] or why.strip().splitlines()
        lines.append("{0} ({suite}, kernel {kernel}) LEFT OUT: {1}".format(node, causes[0], **NODES[node]))
        print("testbed: *** {0}\n{1}".format(lines[-1], why), file=sys.stderr, flush=True)
    LEFT_OUT.write_text("".join(line + "\n" for line in lines))


def main():
    try:
        built, _left_out = build_all(sys.argv[1:] or list(NODES))
    except ImageError as error:
        sys.exit("testbed: " + str(error))
    for node, folder in built.items():
        print(node, folder)


if __name__ == "__main__":
    main()
