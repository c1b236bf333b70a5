# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lays out a support bundle as the tree of its node. PRIVATE to the collection.

Every file is written to a path that is chosen here, below a private folder that its caller removes. Outputs of commands
are converted to the files of the node with the same content; rules and outputs of other commands go to the folders that
_host/other_hosts.py reads.
"""

import dataclasses
import json
import os
import pathlib
import posixpath
import re

from ...module_utils import _names
from ...module_utils._errors import BadInput
from ...module_utils._parse import bundle_parts
from . import beside, by_name, convert, file_kinds, kernel_values, proxy_config, source, unread
from .unread import Unread

RULES_LIMIT = 40
# sysctl -a prints the names in their order: what it lacks before this one does not exist, unless the text is cut.
_LATE_SYSCTL = "net/netfilter/nf_conntrack_max"
_KERNEL_LOG_LIMIT = 64 * 1024 * 1024
_CONFIG = "/var/lib/kube-proxy/config.conf"
# Values and outputs of one moment, of which a bundle may have several.
_MOMENTS = ("/proc/", "/sys/", _names.BUNDLE_FOLDER + "/")
# Only the end of each log is kept.
_LOGS_LIMIT, _LOG_BYTES = 60, 8 * 1024 * 1024
# Files of these kinds that have another path: {kind: (folder, ending)}.
_FOLDERS = {"sysctl_conf": ("/etc/sysctl.d/", ".conf"), "modprobe_conf": ("/etc/modprobe.d/", ".conf"),
            "modules_load": ("/etc/modules-load.d/", ""), "unit": ("/etc/systemd/system/", "")}
_NODE = re.compile(r"(?:^|/)(?:nodes|hosts)/([^/]+)/")
_MODULE = re.compile(r"\.ko(?:\.(?:gz|xz|zst))?\Z")


def lay_out(bundle, folder, declared=None):
    """Write the tree of the bundle into the empty `folder`, with `declared` {name: value} of node_policy. Raises
    BadInput if it is not a bundle or contains several nodes."""
    tree, nodes, files, recognised = _Tree(pathlib.Path(folder)), set(), 0, 0
    parent = os.getppid()
    for item in source.items_of(bundle):
        if os.getppid() != parent:
            raise BadInput("bundle %s is not read further: the run that it belongs to has ended" % bundle)
        files += 1
        item = source.with_utf8(item)
        if len(item.path) > file_kinds.PATH_LIMIT:
            item = dataclasses.replace(item, data=None, link=None, unread="its path has more than %d characters"
                                       % file_kinds.PATH_LIMIT)
        if item.data is None:
            recognised += 1
            tree.unread.add(item)
            continue
        kinds, log = file_kinds.taken(item)
        kinds += beside.found_beside(item, log)
        if not kinds and log is None:
            recognised += file_kinds.is_session(item)
            tree.unread.pass_over(item)
            continue
        recognised += 1
        tree.begin(item)
        if log is not None:
            tree.take_log(log)
        nodes.update(_NODE.findall(item.path))
        if len(nodes) > 1:
            raise BadInput("bundle %s contains several nodes (%s); give the folder of one of them"
                           % (bundle, ", ".join(sorted(nodes))))
        for part, kind, path in kinds:
            tree.take(kind, part, path)
    if not recognised:
        raise BadInput("bundle %s has no file of a known form: no rules, no lsmod, no log with times (docs/bundles.md "
                       "lists all). For pasted lines of a log: ansible localhost -m kubenode.netfilter.log_info -a "
                       "src=FILE" % bundle)
    tree.finish(files, recognised, declared or {})


class _Tree:
    """Puts files into the tree. If two files have the same path, the first one stays. If their content differs, and is
    no value of a moment, the second one is unread, and so is a file that cannot be put."""

    def __init__(self, root):
        self._root = root
        self._links = []
        self._kernel_log, self._kernel_log_size = [], 0
        self._rules = 0
        self._release, self._whole = None, []
        self._fragments, self._applied = [], {}
        self._logs = []
        self._item = None
        self.unread = Unread()
        self._put_own(_names.BUNDLE_WHOLE, "")

    def begin(self, item):
        """The next file, whose kind is known. If it was not read completely, all paths that it has are unread."""
        self._item = item
        if item.unread:
            self.unread.name(item, item.unread)

    def _name(self, reason):
        self.unread.name(self._item, reason)

    def _name_second(self, path):
        self.unread.paths[posixpath.join(posixpath.dirname(path), "unread-" + posixpath.basename(path))] = None
        self._name("another file of the bundle has the same path on the node")

    def put(self, path, content, executable=False):
        """Writes a file of the tree; with None as `content`, only its existence counts. The path is built here; no link
        is followed, because links are made last."""
        place = self._place(path)
        if path in self.unread.paths:
            return
        if self._item.unread:
            self.unread.paths[path] = None
            return
        try:
            if not place.exists():
                self._write(place, content or "", executable)
            elif content is not None and (not place.is_file() or not path.startswith(_MOMENTS)
                                          and place.read_bytes() != _bytes(content)):
                self._name_second(path)
        except OSError as error:
            if error.errno not in unread.OF_PATH:
                raise
            self.unread.paths[path] = None
            self._name("a path such as this cannot be made (%s)" % error.strerror)

    def _put_own(self, path, content):
        self._write(self._place(path), content, False)

    @staticmethod
    def _write(place, content, executable):
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        place.write_bytes(_bytes(content))
        place.chmod(0o700 if executable else 0o600)

    def _place(self, path):
        return self._root / posixpath.normpath("/" + path).lstrip("/")

    def take(self, kind, item, path):
        """A part of the bundle, by its kind."""
        folder, ending = _FOLDERS.get(kind, (None, ""))
        if folder:
            self.put(folder + convert.with_ending(item.path, ending), item.data)
        elif kind in convert.FILES:
            for place, content in convert.FILES[kind](_text(item)).items():
                if place.startswith(kernel_values.WANTED):
                    self._links.append((place, content, item))
                else:
                    self.put(place, content)
        else:
            getattr(self, "take_" + kind)(item, path)

    def take_system(self, item, path):
        """A file that keeps its path; of a kernel module file only its existence counts."""
        if item.link is not None:
            self._links.append((path, item.link, item))
        elif path == "/proc/modules" or not _MODULE.search(path):
            self.put(path, item.data,
                     item.executable or path.startswith(("/usr/local/", "/usr/sbin/", "/sbin/", "/usr/bin/", "/bin/")))
        else:
            self.put(path, None)

    def take_rules(self, item, _path):
        """Rules in any form, stored under their file name."""
        self._rules += 1
        name = "%s/%02d-%s" % (_names.BUNDLE_RULES, self._rules,
                               re.sub(r"[^\w.+-]", "_", item.path.rsplit("/", 1)[-1])[:80])
        if self._rules > RULES_LIMIT:
            self._name("only %d files with rules are read" % RULES_LIMIT)
            self.unread.paths["%s/%02d-more" % (_names.BUNDLE_RULES, RULES_LIMIT + 1)] = None
        elif item.unread:
            # What was read is judged, as of a dump that breaks off.
            self._put_own(name, item.data)
            self.unread.paths[name + "-rest"] = None
        else:
            self.put(name, item.data)

    def take_kernel_config(self, item, _path):
        """A kernel configuration, for the release in its file name or in its header line."""
        release = kernel_values.release_of(item.path, _text(item))
        if release:
            self._release = self._release or release
            self.put("/boot/config-" + release, item.data)
        else:
            self._fragments.append(item)

    def take_checked_config(self, item, _path):
        """The output of check-config of k3s or Docker."""
        release, config = convert.checked_config(_text(item))
        self._release = self._release or release
        self.put("/boot/config-" + release if release else "/proc/config", config)

    def take_sysctl(self, item, _path):
        """Running values; a sysctl that a complete list does not name does not exist."""
        values = convert.sysctls(_text(item))
        for path, value in values.items():
            self.put("/proc/sys/" + path, value + "\n")
        if "kernel/osrelease" in values and max(values) >= _LATE_SYSCTL and not item.unread:
            self._whole.append("/proc/sys")

    def take_applied(self, item, _path):
        """The output of sysctl --system: running values, and the lines of the files that it read."""
        self.take_sysctl(item, None)
        self._applied.update(kernel_values.applied(_text(item)))

    def take_kernel_log(self, item, _path):
        """dmesg, or the text of a journal."""
        lines = "" if item.unread else convert.kernel_log(_text(item))
        self._kernel_log_size += len(lines)
        if item.unread:
            self.put(_names.BUNDLE_COMMANDS + "/dmesg", "")
        elif self._kernel_log_size > _KERNEL_LOG_LIMIT:
            self._name("only %d MiB of logs of the kernel are read" % (_KERNEL_LOG_LIMIT >> 20))
            self.unread.paths[_names.BUNDLE_COMMANDS + "/dmesg"] = None
        else:
            self._kernel_log.append(lines)

    def take_log(self, item):
        """The log of a program or of the node. The same file may also have a kind, and is then taken by that kind,
        too."""
        name = posixpath.normpath("/" + item.path)
        if len(self._logs) < _LOGS_LIMIT and name.isprintable():
            self._logs.append(name)
            self.put(_names.BUNDLE_LOGS + name, item.data[-_LOG_BYTES:])
        else:
            self._name("only %d logs are read, with names that can be printed" % _LOGS_LIMIT)

    def take_ipset(self, item, _path):
        """The output of ipset save or ipset list."""
        self.put(_names.BUNDLE_COMMANDS + "/ipset list -t", convert.ipset_list(_text(item)))
        self.put("/sys/module/ip_set/refcnt", "1\n")
        for path, content in convert.ipset_members(_text(item)).items():
            self.put(path, content)

    def take_grepped(self, item, _path):
        """Lines of settings with the paths of their files."""
        self._applied.update(kernel_values.grepped(_text(item)))

    def take_kube_proxy(self, item, _path):
        """A configuration of kube-proxy, or a ConfigMap with one."""
        self.put(_CONFIG, proxy_config.kube_proxy_config(item.data) or item.data)

    def take_kube_proxy_configz(self, item, _path):
        """The answer of /configz of kube-proxy: the configuration with which it runs."""
        answer, config = proxy_config.config_of_configz(_text(item))
        if answer:
            self.put(_names.BUNDLE_ANSWERS + "/configz", answer)
            if not self._place(_CONFIG).exists():
                self.put(_CONFIG, config)

    def take_kube_proxy_mode(self, item, _path):
        """The answer of /proxyMode of kube-proxy."""
        self.put(_names.BUNDLE_ANSWERS + "/proxy_mode", _text(item).strip() + "\n")

    def take_kube_proxy_healthz(self, item, _path):
        """The answer of /healthz of kube-proxy; /livez has the same form."""
        name = "livez" if "livez" in item.path.rsplit("/", 1)[-1] else "healthz"
        self.put("%s/%s" % (_names.BUNDLE_ANSWERS, name), convert.healthz(_text(item)))

    def take_tasks(self, item, _path):
        """Tasks of Ansible, as a script that a person runs."""
        self.put("/usr/local/sbin/" + item.path.rsplit("/", 1)[-1],
                 by_name.script_of_tasks(_text(item)), executable=True)

    def take_uname(self, item, _path):
        """The output of uname -a."""
        self.put("/proc/sys/kernel/osrelease", _text(item).split()[2] + "\n")

    def take_script(self, item, path):
        """A script that has another path, or the one that a session shows."""
        self.put(path or "/usr/local/sbin/" + item.path.rsplit("/", 1)[-1], item.data, executable=True)

    def take_alternatives(self, item, _path):
        """The output of alternatives --display: the links that alternatives makes, and the program to which the last
        link points."""
        state, content, choices = convert.alternatives_state(_text(item))
        if state:
            self.put(state, content)
        for name, path in convert.alternatives(_text(item)).items():
            if self._link_program(path, item):
                self._links.append(("/usr/sbin/" + name, "/etc/alternatives/" + name, item))
                self._links.append(("/etc/alternatives/" + name, path, item))
        for path in choices:
            self._link_program(path, item)

    def _link_program(self, path, item):
        backend = "legacy" if "legacy" in path else "nft" if "nft" in path else None
        link = (path, "/usr/sbin/xtables-%s-multi" % backend, item)
        if backend and link not in self._links:
            self.put(link[1], None, executable=True)
            self._links.append(link)
        return backend

    def finish(self, files, recognised, declared):
        """Writes the record of the bundle, with the evidence that the tree lacks; then the links, last, so that no file
        is ever written through a link."""
        self._item = source.Item("")
        if self._release:
            self.put("/proc/sys/kernel/osrelease", self._release + "\n")
        # Configurations that do not name their release are of the kernel that runs, where that is known.
        known = self._place("/proc/sys/kernel/osrelease").exists()
        if self._fragments and known:
            self.put("/proc/config", kernel_values.configuration(map(_text, self._fragments)))
        for item in () if known else self._fragments:
            self._item = item
            self._name("neither its name nor its first lines name the release of the kernel; add uname -r")
        self._item = source.Item("")
        for path, content in self._applied.items():
            if not self._place(path).exists():
                self.put(path, content)
        self._put_own(_names.BUNDLE_WHOLE, "\n".join(self._whole))
        self._put_own(_names.BUNDLE_DECLARED, json.dumps(declared))
        if self._logs:
            self._put_own(_names.BUNDLE_LOG_NAMES, "\n".join(self._logs))
        if any(self._kernel_log):
            self.put(_names.BUNDLE_COMMANDS + "/dmesg", "".join(self._kernel_log))
        for path, target, item in self._links:
            if path.startswith(kernel_values.WANTED):
                # Of a unit that the bundle lacks nothing is known but that it is enabled.
                target = next(filter(lambda each: self._place(each).exists(), kernel_values.units_at(target)), None)
            if target is not None:
                self._item = item
                self._link(path, target)
        for path in self.unread.paths:
            unread.make_unread(self._root, self._place(path))
        lacks = [{"subject": what, "evidence": "the bundle does not contain it"}
                 for what in bundle_parts.lacking(lambda path: os.path.lexists(self._place(path)))]
        lacks += self.unread.rows()
        self._put_own(_names.BUNDLE_RECORD, json.dumps({"files": files, "recognised": recognised, "lacks": lacks}))

    def _link(self, path, target):
        try:
            if not unread.make_link(self._root, self._place(path), target):
                self._name_second(path)
        except OSError as error:
            if error.errno not in unread.OF_PATH:
                raise
            self.unread.paths[path] = None
            self._name("a link such as this cannot be made (%s)" % error.strerror)


def _bytes(content):
    return content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")


def _text(item):
    return item.data.decode("utf-8", "replace").replace("\r\n", "\n")
