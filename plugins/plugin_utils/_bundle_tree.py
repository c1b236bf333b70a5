# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lays out a support bundle as the tree of its node. PRIVATE to the collection.

Every file is written to a path that is chosen here, below a private folder that its caller removes. Outputs of commands
are converted to the files of the node with the same content; rules and outputs of other commands go to the folders that
_host/bundle.py reads.
"""

import contextlib
import json
import pathlib
import posixpath
import re

from ..module_utils import _names
from ..module_utils._errors import BadInput
from ..module_utils._parse import bundle_parts
from . import _bundle_kinds, _bundle_source, _bundle_texts

RULES_LIMIT = 40
# Only the end of each log is kept.
_LOGS_LIMIT, _LOG_BYTES = 60, 8 * 1024 * 1024
_RELEASE = re.compile(r"config-(\d+\.\d+[\w.+-]*?)(?:\.txt)?\Z")
_CONFIG_RELEASE = re.compile(r"^# Linux/\S+ (\d\S*) Kernel Configuration", re.MULTILINE)
_NODE = re.compile(r"(?:^|/)(?:nodes|hosts)/([^/]+)/")
_MODULE = re.compile(r"\.ko(?:\.(?:gz|xz|zst))?\Z")


def lay_out(bundle, folder):
    """Write the tree of the bundle into the empty `folder`. Raises BadInput if it is not a bundle or contains several
    nodes."""
    tree, nodes, files, recognised = _Tree(pathlib.Path(folder)), set(), 0, 0
    for item in _bundle_source.items_of(bundle):
        files += 1
        kind, path = _bundle_kinds.kind_of(item)
        is_log = _bundle_kinds.is_log(item)
        if is_log:
            tree.take_log(item)
        if kind is None and not is_log:
            continue
        recognised += 1
        nodes.update(_NODE.findall(item.path))
        if len(nodes) > 1:
            raise BadInput("bundle %s contains several nodes (%s); give the folder of one of them"
                           % (bundle, ", ".join(sorted(nodes))))
        if kind is not None:
            getattr(tree, "take_" + kind)(item, path)
    if not recognised:
        raise BadInput("bundle %s contains no known file, such as rules, lsmod, a kernel configuration or sysctls; "
                       "see docs/bundles.md" % bundle)
    tree.finish(files, recognised)


class _Tree:
    """Puts files into the tree. If two files have the same path, the first one stays."""

    def __init__(self, root):
        self._root = root
        self._links = []
        self._log = ""
        self._rules = 0
        self._release = None
        self._whole = []
        self._logs = []
        self.put(_names.BUNDLE_WHOLE, "")

    def put(self, path, content, executable=False):
        """Writes a file of the tree. The path is built here; no link is followed, because links are made last."""
        place = self._place(path)
        if place is None or place.exists():
            return
        # A member is left out if it is a file where another one needs a folder, or if its name is too long.
        with contextlib.suppress(OSError):
            place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            place.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
            place.chmod(0o700 if executable else 0o600)

    def _place(self, path):
        clean = posixpath.normpath("/" + path)
        return None if "\0" in clean or clean == "/" else self._root / clean.lstrip("/")

    def take_system(self, item, path):
        """A file that keeps its path; of a kernel module file only its existence counts."""
        if item.link is not None:
            self._links.append((path, item.link))
        elif path == "/proc/modules" or not _MODULE.search(path):
            self.put(path, item.data,
                     item.executable or path.startswith(("/usr/local/", "/usr/sbin/", "/sbin/", "/usr/bin/", "/bin/")))
        else:
            self.put(path, b"")

    def take_rules(self, item, _path):
        """Rules in any form, stored under their file name."""
        self._rules += 1
        if self._rules <= RULES_LIMIT:
            name = re.sub(r"[^\w.+-]", "_", item.path.rsplit("/", 1)[-1])[:80]
            self.put("%s/%02d-%s" % (_names.BUNDLE_RULES, self._rules, name), item.data)

    def take_lsmod(self, item, _path):
        """The output of lsmod."""
        self.put("/proc/modules", _bundle_texts.proc_modules(_text(item)))

    def take_kernel_config(self, item, _path):
        """A kernel configuration, for the release in its file name or in its header line."""
        named, headed = _RELEASE.search(item.path), _CONFIG_RELEASE.search(_text(item))
        release = named.group(1) if named else headed.group(1) if headed else None
        if release:
            self._release = self._release or release
            self.put("/boot/config-" + release, item.data)

    def take_sysctl(self, item, _path):
        """Running values; a sysctl that a complete list does not name does not exist."""
        values = _bundle_texts.sysctls(_text(item))
        for path, value in values.items():
            self.put("/proc/sys/" + path, value + "\n")
        if "kernel/osrelease" in values:
            self._whole.append("/proc/sys")

    def take_sysctl_conf(self, item, _path):
        """A file of sysctl.d that has another path."""
        self.put("/etc/sysctl.d/" + item.path.rsplit("/", 1)[-1], item.data)

    def take_modprobe_conf(self, item, _path):
        """A file of modprobe.d that has another path."""
        self.put("/etc/modprobe.d/" + _with_ending(item.path, ".conf"), item.data)

    def take_modules_load(self, item, _path):
        """A file of modules-load.d that has another path."""
        self.put("/etc/modules-load.d/" + item.path.rsplit("/", 1)[-1], item.data)

    def take_kernel_log(self, item, _path):
        """dmesg, or the text of a journal."""
        self._log += _bundle_texts.kernel_log(_text(item))

    def take_log(self, item):
        """The log of a program or of the node. The same file may also have a kind, and is then taken by that kind,
        too."""
        name = posixpath.normpath("/" + item.path)
        if len(self._logs) < _LOGS_LIMIT and name.isprintable():
            self._logs.append(name)
            self.put(_names.BUNDLE_LOGS + name, item.data[-_LOG_BYTES:])

    def take_conntrack(self, item, _path):
        """The output of conntrack -S."""
        self.put("/proc/net/stat/nf_conntrack", _bundle_texts.nf_conntrack_stat(_text(item)))

    def take_ipset(self, item, _path):
        """The output of ipset save."""
        self.put(_names.BUNDLE_COMMANDS + "/ipset list -t", _bundle_texts.ipset_list(_text(item)))
        self.put("/sys/module/ip_set/refcnt", "1\n")

    def take_ipvs(self, item, _path):
        """The output of ipvsadm -Sn."""
        self.put("/proc/net/ip_vs", _bundle_texts.ip_vs(_text(item)))

    def take_kube_proxy(self, item, _path):
        """A configuration of kube-proxy."""
        self.put("/var/lib/kube-proxy/config.conf", item.data)

    def take_kube_proxy_metrics(self, item, _path):
        """The answer of /metrics of kube-proxy."""
        self.put(_names.BUNDLE_ANSWERS + "/metrics", item.data)

    def take_kube_proxy_healthz(self, item, _path):
        """The answer of /healthz of kube-proxy; /livez has the same form."""
        name = "livez" if "livez" in item.path.rsplit("/", 1)[-1] else "healthz"
        self.put("%s/%s" % (_names.BUNDLE_ANSWERS, name), item.data)

    def take_uname(self, item, _path):
        """The output of uname -a."""
        self.put("/proc/sys/kernel/osrelease", _text(item).split()[2] + "\n")

    def take_unit(self, item, _path):
        """A systemd unit that has another path."""
        self.put("/etc/systemd/system/" + item.path.rsplit("/", 1)[-1], item.data)

    def take_script(self, item, _path):
        """A script that has another path."""
        self.put("/usr/local/sbin/" + item.path.rsplit("/", 1)[-1], item.data, executable=True)

    def take_alternatives(self, item, _path):
        """The output of alternatives --display: the links that alternatives makes, and the program to which the last
        link points."""
        for name, path in _bundle_texts.alternatives(_text(item)).items():
            backend = next((word for word in ("legacy", "nft") if word in path), None)
            if backend:
                self.put("/usr/sbin/xtables-%s-multi" % backend, "", executable=True)
                self._links.append(("/usr/sbin/" + name, "/etc/alternatives/" + name))
                self._links.append(("/etc/alternatives/" + name, path))
                self._links.append((path, "/usr/sbin/xtables-%s-multi" % backend))

    def finish(self, files, recognised):
        """Writes the record of the bundle, with the evidence that the tree lacks; then the links, last, so that no file
        is ever written through a link."""
        if self._release:
            self.put("/proc/sys/kernel/osrelease", self._release + "\n")
        self._place(_names.BUNDLE_WHOLE).write_text("\n".join(self._whole))
        if self._logs:
            self.put(_names.BUNDLE_LOG_NAMES, "\n".join(self._logs))
        if self._log:
            self.put(_names.BUNDLE_COMMANDS + "/dmesg", self._log)
        linked = {path for path, _target in self._links}
        lacks = [{"subject": what, "evidence": "the bundle does not contain it"}
                 for what in bundle_parts.lacking(lambda path: self._place(path).exists() or path in linked)]
        self.put(_names.BUNDLE_RECORD, json.dumps({"files": files, "recognised": recognised, "lacks": lacks}))
        for path, target in self._links:
            self._link(self._place(path), target)

    def _link(self, place, target):
        """Makes a link of the tree, which BundleHost follows only inside the tree; no link is made below another
        link."""
        if place is None or "\0" in target or any(folder.is_symlink() for folder in (place, *place.parents)
                                                  if folder != self._root):
            return
        with contextlib.suppress(OSError):
            place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            place.symlink_to(target)


def _with_ending(path, ending):
    name = path.rsplit("/", 1)[-1]
    return name if name.endswith(ending) else name + ending


def _text(item):
    return item.data.decode("utf-8", "replace").replace("\r\n", "\n")
