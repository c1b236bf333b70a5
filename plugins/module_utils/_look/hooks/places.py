# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Places besides systemd units whose commands a node runs by itself.

One row per place: its files, how commands are parsed, when they run, and which function of live.py decides that."""

import collections
import posixpath

from ..._parse.commands import embedded
from ..._parse.commands.embedded import BOOT, EVENT, FIRST_BOOT, PACKAGE_UPGRADE, TIMER
from . import live

STOP, START = "stop", "start"


# `source` is its name in `collected`; `files` and `folders` are paths; `depth` levels below the folders belong to it;
# `read(data, path)` gives its [Command]; `runs(look, path, mode, when)` gives (whether it is live, why).
class Place(collections.namedtuple("Place", "source kind files folders depth read runs")):
    """`whole`: the commands in it may be compressed, so its bytes do not show whether it is worth parsing."""

    @property
    def whole(self):
        return self.source == "cloud_init"


def _script(*when):
    """A file that is one script; it runs at these occasions."""
    def read(data, _path):
        text = data.decode("utf-8", "replace")
        return [embedded.Command(1, text, occasion, True) for occasion in when]
    return read


def _cloud_config(marked):
    def read(data, _path):
        from ..._parse.commands.cloud_config import parse_cloud_config, written_files
        found = parse_cloud_config(data, marked)
        for written in written_files(data, marked):
            # A file that cloud-init writes at the first boot contains the commands that it runs later; before that
            # boot, they are only in this file.
            for inner in _in_written(written):
                line = written.line + inner.line - 1 if written.exact else written.line
                found.append(embedded.Command(line, inner.text, FIRST_BOOT, inner.exact and written.exact))
        return found
    return read


def unread_part(place, data):
    """Why commands in the file of a place may not have been found, or None."""
    if place.read not in (_CLOUD_CFG, _USER_DATA):
        return None
    from ..._parse.commands.cloud_config import unread_config
    return unread_config(data, place.read is _USER_DATA)


_CLOUD_CFG, _USER_DATA = _cloud_config(False), _cloud_config(True)


def _in_written(written):
    place = place_of(written.path)
    if place:
        return place.read(written.text.encode("utf-8", "replace"), written.path)
    return _unit_commands(written.text) if written.path.endswith(".service") else []


def _unit_commands(text):
    from ..._parse.systemd.unit import split_arguments, split_commands
    from ..._parse.systemd.unit import parse_unit
    return [embedded.Command(each.line, embedded.shell_words(split_arguments(command)), FIRST_BOOT)
            for each in parse_unit(text.encode("utf-8", "replace")).assignments
            if each.section == "Service" and each.key.startswith("Exec")
            for _prefixes, command in split_commands(each.text)]


def _of_text(module, function, **options):
    return lambda data, _path: getattr(_parsers(module), function)(data.decode("utf-8", "replace"), **options)


def _parsers(module):
    """The parser of a format, imported on demand: most nodes have no hit in most formats, and the sources of a module
    are compiled on each run."""
    if module == "cron_table":
        from ..._parse.commands import daemon_hooks as found
    elif module == "package_hooks":
        from ..._parse.commands import event_hooks as found
    elif module == "daemon_hooks":
        from ..._parse.commands import daemon_hooks as found
    else:
        from ..._parse.commands import event_hooks as found
    return found


def _each(pattern, *values):
    return tuple(pattern % value for value in values)


def _of_daemon(name, function, files, folders, *programs):
    """The place of a daemon that runs commands of its configuration."""
    return Place("daemons", "dispatcher", files, folders, 0, _of_text("daemon_hooks", function),
                 live.of_daemon(name, *programs))


def _scripts_of(name, files, folders, *programs):
    """The place of scripts that a daemon runs when a state changes."""
    return Place("daemons", "dispatcher", files, folders, 0, _script(EVENT), live.script_of_daemon(name, *programs))


_PERIODS = ("hourly", "daily", "weekly", "monthly")
_STATES = ("carrier", "configured", "configuring", "degraded", "dormant", "no-carrier", "off", "routable")

PLACES = (
    Place("cron", "cron", ("/etc/crontab",), ("/etc/cron.d",), 0,
          _of_text("cron_table", "parse_cron_table", with_user=True), live.cron_table),
    Place("cron", "cron", (), ("/var/spool/cron/crontabs", "/var/spool/cron/tabs", "/var/spool/cron", "/etc/crontabs"),
          0, _of_text("cron_table", "parse_cron_table"), live.crontab),
    Place("cron", "cron", ("/etc/anacrontab",), (), 0, _of_text("cron_table", "parse_anacron_table"),
          live.of_program("anacron")),
    Place("cron", "cron", (), _each("/etc/cron.%s", *_PERIODS) + _each("/etc/periodic/%s", "15min", *_PERIODS), 0,
          _script(TIMER), live.periodic_script),
    Place("cloud_init", "cloud_init", ("/etc/cloud/cloud.cfg",), ("/etc/cloud/cloud.cfg.d",), 0, _CLOUD_CFG,
          live.cloud_init),
    Place("cloud_init", "cloud_init",
          ("/var/lib/cloud/instance/user-data.txt", "/var/lib/cloud/instance/vendor-data.txt",
           "/var/lib/cloud/instance/vendor-data2.txt", "/var/lib/cloud/seed/nocloud/user-data",
           "/var/lib/cloud/seed/nocloud-net/user-data"), (), 0, _USER_DATA, live.cloud_init),
    Place("cloud_init", "cloud_init", (), ("/var/lib/cloud/scripts/per-boot", "/var/lib/cloud/instance/boothooks"), 0,
          _script(BOOT), live.cloud_script),
    Place("cloud_init", "cloud_init", (),
          ("/var/lib/cloud/scripts/per-instance", "/var/lib/cloud/scripts/per-once", "/var/lib/cloud/scripts/vendor",
           "/var/lib/cloud/instance/scripts"), 0, _script(FIRST_BOOT), live.cloud_script),
    Place("network_manager", "dispatcher", (),
          tuple("%s/NetworkManager/dispatcher.d%s" % (top, part) for top in ("/etc", "/usr/lib")
                for part in ("", "/pre-up.d", "/pre-down.d", "/no-wait.d")),
          0, _script(EVENT), live.network_manager),
    Place("networkd_dispatcher", "dispatcher", (),
          tuple("%s/networkd-dispatcher/%s.d" % (top, state) for top in ("/etc", "/usr/lib") for state in _STATES),
          0, _script(EVENT), live.networkd_dispatcher),
    Place("ifupdown", "ifupdown", ("/etc/network/interfaces",), ("/etc/network/interfaces.d",), 0,
          _of_text("event_hooks", "parse_interfaces"), live.interfaces_file),
    Place("ifupdown", "ifupdown", (), _each("/etc/network/if-%s.d", "pre-up", "up"), 0, _script(BOOT, EVENT),
          live.ifupdown_script),
    Place("ifupdown", "ifupdown", (), _each("/etc/network/if-%s.d", "down", "post-down"), 0, _script(EVENT),
          live.ifupdown_script),
    Place("ifupdown", "ifupdown",
          _each("/%s-local", "sbin/ifup-pre", "sbin/ifup", "usr/sbin/ifup-pre", "usr/sbin/ifup"), (), 0,
          _script(BOOT, EVENT), live.ifup_local),
    Place("ifupdown", "ifupdown",
          _each("/%s-local", "sbin/ifdown-pre", "sbin/ifdown", "usr/sbin/ifdown-pre", "usr/sbin/ifdown"), (), 0,
          _script(EVENT), live.ifup_local),
    Place("ifupdown", "dispatcher", (), _each("/etc/dhcp/dhclient-%s-hooks.d", "enter", "exit"), 0,
          _script(EVENT), live.dhclient_script),
    Place("ifupdown", "dispatcher", _each("/etc/dhcpcd.%s-hook", "enter", "exit"),
          _each("%s/dhcpcd-hooks", "/lib/dhcpcd", "/usr/lib/dhcpcd", "/usr/libexec", "/libexec"), 0,
          _script(BOOT, EVENT), live.dhcpcd_script),
    Place("ifupdown", "ifupdown", (), ("/etc/wireguard",), 0, _of_text("event_hooks", "parse_wg_conf"), live.wg_quick),
    _of_daemon("keepalived", "parse_keepalived_conf", ("/etc/keepalived/keepalived.conf",),
               _each("/etc/keepalived/%s", "conf.d", "keepalived.d", "instances")),
    _of_daemon("monit", "parse_monit_conf", ("/etc/monitrc", "/etc/monit/monitrc"),
               ("/etc/monit.d",) + _each("/etc/monit/%s", "conf.d", "conf-enabled", "monitrc.d")),
    _of_daemon("supervisord", "parse_supervisor_conf", _each("/etc/%s.conf", "supervisord", "supervisor/supervisord"),
               ("/etc/supervisor/conf.d", "/etc/supervisord.d"), "supervisor"),
    _of_daemon("openvpn", "parse_openvpn_conf", (), _each("/etc/openvpn%s", "", "/server", "/client")),
    _of_daemon("incrond", "parse_incron_table", (), ("/etc/incron.d", "/var/spool/incron"), "incron"),
    _of_daemon("acpid", "parse_acpi_events", (), ("/etc/acpi/events",)),
    _scripts_of("pppd", _each("/etc/ppp/ip-%s", "up", "down", "up.local", "down.local", "pre-up"),
                _each("/etc/ppp/%s.d", "ip-up", "ip-down", "ipv6-up", "ipv6-down")),
    _scripts_of("libvirtd", (), ("/etc/libvirt/hooks",) + _each("/etc/libvirt/hooks/%s.d", "qemu", "network", "lxc",
                                                                "daemon"), "virtqemud", "virtnetworkd"),
    _scripts_of("heartbeat", (), ("/etc/ha.d/resource.d",), "pacemaker"),
    _scripts_of("ucarp", _each("/usr/share/ucarp/vip-%s", "up", "down"), ("/etc/ucarp",)),
    _scripts_of("ifplugd", (), ("/etc/ifplugd/action.d",)),
    _scripts_of("systemd-sleep", (), _each("%s/systemd/system-sleep", "/etc", "/usr/lib", "/lib"), "systemd"),
    Place("rc_local", "rc_local", ("/etc/rc.local", "/etc/rc.d/rc.local"), (), 0, _script(BOOT), live.rc_local),
    Place("init", "init", (), ("/etc/local.d",), 0, _script(BOOT), live.openrc_local),
    Place("init", "init", (), ("/etc/init.d", "/etc/rc.d/init.d"), 0, _script(BOOT, START, STOP), live.init_script),
    Place("udev", "udev", (), _each("%s/udev/rules.d", "/etc", "/run", "/usr/local/lib", "/usr/lib", "/lib"), 0,
          _of_text("event_hooks", "parse_udev_rules"), live.udev_rules),
    Place("logrotate", "logrotate", ("/etc/logrotate.conf",), ("/etc/logrotate.d",), 0,
          _of_text("event_hooks", "parse_logrotate_conf"), live.of_program("logrotate")),
    Place("package_hooks", "package_hook", ("/etc/apt/apt.conf",), ("/etc/apt/apt.conf.d",), 0,
          _of_text("package_hooks", "parse_apt_conf"), live.apt),
    Place("package_hooks", "package_hook", ("/etc/dpkg/dpkg.cfg",), ("/etc/dpkg/dpkg.cfg.d",), 0,
          _of_text("package_hooks", "parse_dpkg_cfg"), live.dpkg),
    Place("package_hooks", "package_hook", (),
          ("/etc/dnf/plugins/post-transaction-actions.d", "/etc/dnf/plugins/pre-transaction-actions.d",
           "/etc/dnf/libdnf5-plugins/actions.d", "/etc/yum/post-actions"), 0,
          _of_text("package_hooks", "parse_dnf_actions"), live.dnf),
    Place("package_hooks", "package_hook", (),
          ("/etc/kernel/postinst.d", "/etc/kernel/preinst.d", "/etc/kernel/postrm.d", "/etc/kernel/prerm.d",
           "/etc/kernel/install.d", "/usr/lib/kernel/install.d", "/usr/lib/zypp/plugins/commit"), 0,
          _script(PACKAGE_UPGRADE), live.executable))
SOURCES = tuple(sorted({place.source for place in PLACES}))


def place_of(path):
    """The place that a file of this path belongs to, or None."""
    folder = posixpath.dirname(path)
    return next((place for place in PLACES if path in place.files or folder in place.folders), None)
