# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the node runs the commands in a file: (True, False or None, why).

The readers of a directory silently skip some files: cron skips names with a dot, all skip scripts that are not
executable. None means that it is not known."""

import re

from ..._host.host import OK
from ..._parse.commands import embedded
from ..host.place import BUNDLE, LIVE

# run-parts of Debian (man run-parts), which its cron follows for /etc/cron.d too (man cron).
_DEBIAN_NAME = re.compile(r"[A-Za-z0-9_-]+\Z")
# run-parts of crontabs and not_a_crontab() of cronie skip these.
_LEFT_OVER = re.compile(r"(?:\.|#.*#\Z|.*(?:~|,|,v|\.(?:rpmsave|rpmorig|rpmnew|swp|cfsaved|bak|dpkg-\w+)))\Z|\.")
# NetworkManager src/nm-dispatcher/nm-dispatcher.c check_filename().
_NOT_DISPATCHED = re.compile(r"\.|.*(?:~|\.rpmsave|\.rpmorig|\.rpmnew|\.swp)\Z")
_EXECUTABLE = 0o111
# Name in the reasons -> names of its programs and units, where they differ from it.
_NAMES = {"cron": ("cron", "crond", "cronie", "dcron"), "ifupdown": ("ifup", "networking"), "OpenRC": ("openrc",)}
_IFUP_POST, _SEMAPHORES = "/etc/sysconfig/network-scripts/ifup-post", "/var/lib/cloud/instance/sem/"


def executable(_look, _path, mode, _when):
    return (True, "it is executable") if mode & _EXECUTABLE else (False, "it is not executable")


def cron_table(look, path, _mode, _when):
    if path.startswith("/etc/cron.d/"):
        reason = _passed_over(look, path, "cron")
        if reason:
            return False, reason
    return _cron(look)


def crontab(look, path, _mode, _when):
    return (False, "it is a backup file of an editor") if _LEFT_OVER.match(_name(path)) else _cron(look)


def _cron(look):
    """Nearly every node with a table of cron runs cron."""
    return _collected(look, "cron", "it is a table of cron")


def _collected(look, names, why):
    """People collect what a daemon reads without the daemon: `why` where nothing shows whether it is installed."""
    found = _daemon(look, names)
    return (True, why) if found[0] is None and look.node["place"] == BUNDLE else found


def of_daemon(name, *programs):
    """The function for the configuration of a daemon, whose programs and units have these names."""
    _NAMES[name] = (name,) + programs
    return lambda look, _path, _mode, _when: _collected(look, name, "%s reads it" % name)


def script_of_daemon(name, *programs):
    return _executables(name, of_daemon(name, *programs))


def _executables(name, runs):
    """`runs` for files that the program `name` skips where they are not executable."""
    def answer(look, path, mode, when):
        if not mode & _EXECUTABLE:
            return False, "it is not executable, so %s skips it" % name
        return runs(look, path, mode, when)
    return answer


def of_program(name):
    """The function for a table of a program that has no daemon."""
    return lambda look, _path, _mode, _when: _installed(look, name)


def periodic_script(look, path, mode, _when):
    reason = _passed_over(look, path, "run-parts")
    if reason:
        return False, reason
    if not mode & _EXECUTABLE:
        return False, "it is not executable, so run-parts skips it"
    return _daemon(look, "cron")


def _passed_over(look, path, who):
    name = _name(path)
    if not is_passed_over(name, look.is_debian()):
        return None
    return "%s%s skips a name like %s" % (who, " of Debian" if look.is_debian() else "", name)


def is_passed_over(name, debian):
    """Whether run-parts, Debian's or that of others, skips a file of this name."""
    return not _DEBIAN_NAME.match(name) if debian else _LEFT_OVER.match(name) is not None


def cloud_init(look, path, _mode, when):
    if path.startswith("/etc/cloud/") and not path.endswith(".cfg"):
        return False, "cloud-init reads only files that end in .cfg there"
    if look.host.exists("/etc/cloud/cloud-init.disabled"):
        return False, "/etc/cloud/cloud-init.disabled exists"
    if when == embedded.FIRST_BOOT:
        return _installed(look, "cloud-init", _first_boot(look))
    return _installed(look, "cloud-init", (True, "cloud-init runs it at every boot"))


cloud_script = _executables("cloud-init", cloud_init)


def _first_boot(look):
    """Commands that run once per instance: on a running node they have run, in an image they have not."""
    if look.node["place"] != LIVE:
        return True, "cloud-init runs it at the first boot of a node made from this image"
    status, names = look.host.list_dir(_SEMAPHORES)
    if status == OK and any(name.startswith(("config_scripts_user", "config_runcmd")) for name in names):
        return False, "cloud-init runs it once for an instance, and has already run it for this one"
    return None, "cloud-init runs it once for an instance, and whether it already did is not known"


def network_manager(look, path, mode, _when):
    if _NOT_DISPATCHED.match(_name(path)) or not mode & _EXECUTABLE or mode & 0o022:
        return False, "NetworkManager runs only executable scripts that only their owner can write"
    return _collected(look, "NetworkManager", "it is a script of NetworkManager's dispatcher")


networkd_dispatcher = _executables("networkd-dispatcher", lambda look, _path, _mode, _when: _collected(
    look, "networkd-dispatcher", "it is a script of networkd-dispatcher"))


def interfaces_file(look, _path, _mode, _when):
    answer = _installed(look, "ifupdown")
    # Distributions without ifupdown have no such file with commands; many packages leave scripts in if-up.d there.
    return (True, "ifupdown runs it") if answer[0] is None else answer


def ifupdown_script(look, path, mode, _when):
    if not mode & _EXECUTABLE or not _DEBIAN_NAME.match(_name(path)):
        return False, "ifupdown runs only executable scripts without a dot in their name"
    return _installed(look, "ifupdown")


def ifup_local(look, path, mode, _when):
    """initscripts, later the package network-scripts (network-scripts/ifup, ifup-post, ifdown, ifdown-post): whatever
    NetworkManager manages, ifup only hands over to it."""
    if not mode & _EXECUTABLE:
        return False, "it is not executable, so ifup and ifdown skip it"
    if not look.host.exists(_IFUP_POST):
        if look.node["place"] == BUNDLE:
            return None, ("ifup of initscripts runs it for interfaces that NetworkManager does not manage, and whether "
                          "network.service brings any up is not known")
        return False, "initscripts (network-scripts) is not installed, and no other program runs %s" % _name(path)
    if any(look.units.runs(unit)[0] for unit in _units(look, "NetworkManager")):
        return None, "ifup runs it only for interfaces that NetworkManager does not manage (NM_CONTROLLED=no)"
    return True, "ifup and ifdown of initscripts run it for each interface"


def wg_quick(look, path, _mode, _when):
    if not path.endswith(".conf"):
        return False, "wg-quick reads only files that end in .conf"
    unit = "wg-quick@%s.service" % _name(path)[:-5]
    return look.units.runs(unit) if look.units.known(unit) else _installed(look, "wg-quick")


def rc_local(look, path, mode, _when):
    if not mode & _EXECUTABLE:
        return False, "it is not executable, so it does not run at boot"
    if look.units.is_masked("rc-local.service"):
        return False, "rc-local.service is masked"
    return True, "it is executable"


def openrc_local(look, path, mode, _when):
    if not path.endswith(".start") or not mode & _EXECUTABLE:
        return False, "OpenRC runs only executable files that end in .start at boot"
    if _linked(look.host, "local"):
        return True, "OpenRC runs it at boot"
    return _installed(look, "OpenRC", (True, "OpenRC runs it at boot"))


def init_script(look, path, mode, _when):
    name = _name(path)
    if not mode & _EXECUTABLE:
        return False, "it is not executable"
    if has_unit(look, path):
        return False, "systemd has a native unit %s and ignores this script" % unit_of_script(path)
    if _linked(look.host, name):
        return True, "a link in /etc/rc?.d or /etc/runlevels starts it at boot"
    return False, "no link in /etc/rc?.d or /etc/runlevels starts it"


def unit_of_script(path):
    """The unit that systemd makes of a script in init.d (src/sysv-generator/sysv-generator.c sysv_translate_name())."""
    name = _name(path)
    return (name[:-3] if name.endswith(".sh") else name) + ".service"


def has_unit(look, path):
    """Whether a unit of that name exists, even a masked one: then systemd makes no unit of the script
    (enumerate_sysv()), and the links of the script start the existing unit."""
    return "/init.d/" in path and look.units.known(unit_of_script(path))


def _linked(host, name):
    for folder in ["/etc/rc%s.d" % level for level in "2345S"] + ["/etc/rc.d/rc%s.d" % level for level in "2345"]:
        if any(re.match(r"S\d\d%s\Z" % re.escape(name), entry) for entry in host.list_dir(folder)[1]):
            return True
    return any(host.exists("/etc/runlevels/%s/%s" % (level, name)) for level in ("sysinit", "boot", "default"))


def udev_rules(look, path, _mode, _when):
    if not path.endswith(".rules"):
        return False, "udev reads only files that end in .rules"
    for folder in ("/etc/udev/rules.d/", "/run/udev/rules.d/", "/usr/local/lib/udev/rules.d/"):
        if path.startswith(folder):
            break
        if look.host.read_link(folder + _name(path)) is not None or look.host.exists(folder + _name(path)):
            return False, "%s%s replaces it" % (folder, _name(path))
    return True, "udev runs it when its rule matches"


def apt(look, path, _mode, _when):
    # apt-pkg/contrib/fileutl.cc GetListOfFilesInDir(): no ending, or .conf.
    if "/apt.conf.d/" in path and not re.match(r"[A-Za-z0-9_-]+(?:\.conf)?\Z", _name(path)):
        return False, "apt skips a name like %s" % _name(path)
    return True, "apt runs it before or after its work"


def dpkg(look, path, _mode, _when):
    # lib/dpkg/options.c valid_config_filename().
    if "/dpkg.cfg.d/" in path and not re.match(r"[A-Za-z0-9_-]+\Z", _name(path)):
        return False, "dpkg skips a name like %s" % _name(path)
    return True, "dpkg runs it before or after its work"


def dhclient_script(look, path, _mode, _when):
    # dhclient-script sources them, whatever their mode (isc-dhcp debian/dhclient-script.linux run_hookdir()).
    reason = _passed_over(look, path, "dhclient-script")
    if reason:
        return False, reason
    return _installed(look, "dhclient", (True, "dhclient runs it for each lease"))


def dhcpcd_script(look, path, _mode, _when):
    # dhcpcd-run-hooks sources them, whatever their mode, but no name that ends in ~ (dhcpcd hooks/dhcpcd-run-hooks.in).
    if path.endswith("~"):
        return False, "dhcpcd-run-hooks skips a name like %s" % _name(path)
    return _installed(look, "dhcpcd", (True, "dhcpcd runs it at each event of an interface"))


def dnf(look, path, _mode, _when):
    if not path.endswith((".action", ".actions")):
        return False, "dnf reads only files that end in .action or .actions"
    return True, "dnf runs it after a transaction"


def _daemon(look, name):
    """Whether a daemon of one of these names is installed and starts."""
    states = [look.units.runs(unit) for unit in _units(look, name)]
    if states:
        return next((answer for answer in states if answer[0]), states[0])
    return _installed(look, name, (None, "%s is installed, but whether it runs is not known" % name))


def _installed(look, name, answer=None):
    """`answer` where a program of `name` is installed, which its unit shows as well."""
    if any(look.host.find_binary(program) for program in _NAMES.get(name, (name,))) or _units(look, name):
        return answer or (True, "%s is installed" % name)
    if look.node["place"] == BUNDLE:
        return None, "whether %s runs is not known: the bundle has neither its unit nor its program" % name
    return False, "%s is not installed" % name


def _units(look, name):
    return [each + ".service" for each in _NAMES.get(name, (name,)) if look.units.known(each + ".service")]


def _name(path):
    return path.rsplit("/", 1)[-1]
