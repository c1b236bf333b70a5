# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The modules that are loaded at boot: modules-load.d and similar lists. PRIVATE to the collection."""

from ... import _names
from ..._host.host import ABSENT, DENIED
from ..._names import UNCOLLECTED
from ..._parse.kernel.modules_load import parse_modules_load
from ..conf_dirs import effective_files

SYSTEMD_BINARIES = ("/usr/lib/systemd/systemd", "/lib/systemd/systemd")
UNIT = "systemd-modules-load.service"
# systemctl mask creates a link of this name in one of these directories.
UNIT_DIRECTORIES = ("/etc/systemd/system", "/run/systemd/system")


def boot_loader_of(host, init):
    """The reader of the lists: `systemd`, `openrc`, `sysvinit` or `unknown`. `init` is the running init, None in an
    image."""
    if init in ("systemd", "openrc", "sysvinit"):
        return init
    if any(host.is_file(path) for path in SYSTEMD_BINARIES):
        return "systemd"
    if host.is_file("/sbin/openrc") or host.is_file("/usr/sbin/openrc"):
        return "openrc"
    return "sysvinit" if host.exists("/etc/init.d/kmod") else "unknown"


class BootList:
    """Names that are loaded at boot: `names` is {name: [{"file", "line"}]}; `service` is enabled, masked or unknown."""

    def __init__(self, host, loader, cmdline):
        self.loader = loader
        self.names = {}
        self.unread = []
        self.status, paths = effective_files(host, "modules-load.d")
        first_word_only = loader in ("openrc", "sysvinit")
        if first_word_only:
            # OpenRC on Alpine and Debian's kmod script read it; systemd reads it only where a link in modules-load.d
            # leads to it.
            paths = paths + ["/etc/modules"]
        for path in paths:
            text = host.read_text(path)
            if text.status in (ABSENT, UNCOLLECTED):
                continue
            if not text.ok:
                self.status = text.status
                # The errors in a file that this user may not read are unknown.
                if text.status != DENIED:
                    self.unread.append({"file": path, "line": 0, "text": text.status})
                continue
            names, unread = parse_modules_load(text.text, first_word_only)
            for line, name in names:
                self._add(name, path, line)
            self.unread += [{"file": path, "line": line, "text": bad[:160]} for line, bad in unread]
        for key, value in cmdline:
            if key.replace("-", "_") in ("modules_load", "rd.modules_load") and value and loader == "systemd":
                for name in filter(_names.is_name, value.split(",")):
                    self._add(_names.normalise(name), "/proc/cmdline", 1)
        self.service = _service(host, loader)

    def _add(self, name, path, line):
        self.names.setdefault(name, []).append({"file": path, "line": line})


def _service(host, loader):
    if loader != "systemd":
        return "enabled" if loader in ("openrc", "sysvinit") else "unknown"
    with host.noting() as notes:
        masked = any(host.read_link(folder + "/" + UNIT) == "/dev/null" for folder in UNIT_DIRECTORIES)
    return "masked" if masked else "unknown" if notes else "enabled"
