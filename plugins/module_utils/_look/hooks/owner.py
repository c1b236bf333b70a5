# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The owner of a file, the administrator or a package, without running a package manager.

Most paths identify the owner; below /etc the lists of dpkg do. The databases of rpm are not read: the owner is
unknown."""

from ..._host.host import OK

ADMINISTRATOR, PACKAGE, UNKNOWN = "administrator", "package", "unknown"
_INFO = "/var/lib/dpkg/info"
_ADMINISTRATORS = ("/usr/local/", "/opt/", "/root/", "/home/", "/srv/", "/etc/cloud/", "/var/spool/cron/",
                   "/etc/systemd/system.control/")
_PACKAGES = ("/usr/", "/lib/", "/lib64/", "/sbin/", "/bin/")
# Files of the iptables package of Azure Linux and Photon (SPECS/iptables), and of firewalls of RHEL, below /etc.
_BY_NAME = ("/etc/systemd/scripts/iptables", "/etc/systemd/scripts/iptables.stop", "/etc/systemd/scripts/ip4save",
            "/etc/systemd/scripts/ip6save", "/etc/sysconfig/iptables-config", "/etc/sysconfig/ip6tables-config",
            "/etc/firewalld/firewalld.conf", "/etc/default/ufw")
_LISTS_LIMIT = 4 * 1024 * 1024


class Owners:
    """The lists are read when the first file below /etc is looked up: only files with hooks are."""

    def __init__(self, host):
        self._host = host
        self._known, self._status = None, None

    def of(self, path):
        """administrator, package or unknown."""
        if path in _BY_NAME:
            return PACKAGE
        if path.startswith(_ADMINISTRATORS):
            return ADMINISTRATOR
        if path.startswith(_PACKAGES):
            return PACKAGE
        if not path.startswith("/etc/"):
            return UNKNOWN
        if self._known is None:
            self._read()
        if path in self._known:
            return PACKAGE
        return ADMINISTRATOR if self._status == OK or path.startswith("/etc/systemd/system/") else UNKNOWN

    def _read(self):
        """Read which files dpkg packages install below /etc: their lists of configuration files name nearly all."""
        self._status, names = self._host.list_dir(_INFO)
        self._known = set()
        for name in names:
            if name.endswith(".conffiles"):
                for line in self._host.read_text(_INFO + "/" + name, _LISTS_LIMIT).text.splitlines():
                    # dpkg 1.20 marks files that a package gives up with a word in front (man deb-conffiles).
                    self._known.add(line.split(" ", 1)[-1].strip())
