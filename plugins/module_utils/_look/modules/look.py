# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One look at the modules of a tree, for the section and for the plan to load them."""

from ... import _errors, _module_data, _names
from ..._host.host import ABSENT, DENIED, OK, UNPARSED, Text
from ..._names import UNCOLLECTED, UNKNOWN_RELEASE
from ..._parse.kernel.boot_files import parse_kernel_cmdline
from ..._parse.kernel.module_files import parse_modules_load, parse_proc_modules
from ..bounds import cut
from ..conf_dirs import effective_files, passed_over
from ..host.kernels import Kernel, chosen_releases, configured_releases, installed_releases, next_boot_kernel
from ..host.place import BUNDLE, WITH_KERNEL
from ..processes import status_of_notes
from . import state as modules_state
from .blocks import BLOCKS, LOAD_PATHS, TEXT_LIMIT, UNCLEAR, Policy

SYSTEMD_BINARIES = ("/usr/lib/systemd/systemd", "/lib/systemd/systemd")
UNIT = "systemd-modules-load.service"
# systemctl mask creates a link of this name in one of these directories.
UNIT_DIRECTORIES = ("/etc/systemd/system", "/run/systemd/system")


class Look:
    """One look at a tree: evidence that all modules share is read once, here."""

    def __init__(self, host, node, kernel=None):
        self.host = host
        self.live = node["place"] in WITH_KERNEL
        self.bundle = node["place"] == BUNDLE
        self.system = node["os"]
        self.collected = {}
        running = (node["kernel_release"] or _no_release(host, node)) if self.live else None
        status, releases = installed_releases(host)
        self.collected["modules_directory"] = status
        if not releases and running is None:
            releases = configured_releases(host)
        with host.noting() as notes:
            self.next_boot = next_boot_kernel(host, releases, running)
        self.collected["boot_loader"] = status_of_notes(notes)
        self.judged = _judged_release(kernel, running, self.next_boot["release"], releases)
        chosen, self.left_out = chosen_releases(releases, [running, self.next_boot["release"], self.judged])
        cmdline_text = host.read_text("/proc/cmdline") if self.live else Text(ABSENT)
        self.collected["cmdline"] = cmdline_text.status
        cmdline = parse_kernel_cmdline(cmdline_text.text)
        self.policy = Policy(host, cmdline, self.live)
        self.collected["modprobe_conf"] = self.policy.status
        self.kernels = [Kernel(host, release, release == running, self.policy.conf.targets_of) for release in chosen]
        self.by_release = {each.release: each for each in self.kernels}
        self.running = None
        self.see_what_is_loaded()
        if status == UNCOLLECTED and (self.collected.get("proc_modules") == OK
                                      or any(kernel.config[0] for kernel in self.kernels)):
            self.collected["modules_directory"] = ABSENT  # There is other evidence of the kernel.
        self.running_release = running
        self.boot = BootList(host, boot_loader_of(host, node["init"] if self.live else None), cmdline)
        self.collected["modules_load"] = self.boot.status
        self.boot_closures, self._ignored = {}, None

    def see_what_is_loaded(self):
        """Read the state of the running kernel; again after modules were loaded."""
        self.running = self._running_kernel() if self.live else None

    def state_of(self, name):
        return self._verdict(self.by_release[self.judged], name).state

    def _running_kernel(self):
        text = self.host.read_text("/proc/modules")
        loaded, unread = parse_proc_modules(text.text)
        self.collected["proc_modules"] = UNPARSED if unread else text.status
        supports = True if text.ok else None
        # A kernel without CONFIG_MODULES has neither the list nor the sysctls (kernel/module/procfs.c,
        # kernel/sysctl.c).
        if text.status == ABSENT and self.host.presence("/proc/sys/kernel/modprobe") == ABSENT:
            supports = False
        return modules_state.RunningKernel(self.host, loaded if text.ok or supports is False else None, supports)

    def module(self, name):
        """The evidence row of one module."""
        verdicts = [(kernel, self._verdict(kernel, name)) for kernel in self.kernels]
        by_release = {kernel.release: verdict for kernel, verdict in verdicts}
        nothing = modules_state.Verdict(None, modules_state.UNKNOWN, "no_tree", "no kernel was found")
        own = by_release.get(self.judged, nothing)
        judged_kernel = self.by_release.get(self.judged)
        blocks = []
        if judged_kernel is not None and own.state != modules_state.BUILTIN:
            blocks = self.policy.blocks_of(self.host, judged_kernel, own.module, self._needs_no_load)
        row = {
            "name": name, "module": own.module if own.state in modules_state.AVAILABLE else None, "state": own.state,
            "cause": own.cause, "evidence": own.evidence, "package": own.package,
            "kernels": _grouped([(kernel, verdict) for kernel, verdict in verdicts if kernel.release != self.judged]),
            "blocked_for": [load_path for load_path in LOAD_PATHS
                            if any(load_path in block.load_paths for block in blocks if block.effect == BLOCKS)],
            "blocked_unclear": [load_path for load_path in LOAD_PATHS
                                if any(load_path in block.load_paths for block in blocks if block.effect == UNCLEAR)],
            "blocks": [block.as_dict() for block in blocks if block not in self.policy.kernel_wide],
            "lacking_on": [kernel.release for kernel, verdict in verdicts
                           if kernel.release not in (self.judged, self.next_boot["release"])
                           and verdict.state in ("absent", "installable")]}
        row.update(self._boot_row(name, own))
        return row

    def _verdict(self, kernel, name):
        # Without the list of loaded modules the tree of a bundle shows what can be loaded.
        asked = kernel.running and (self.collected["proc_modules"] != UNCOLLECTED or not kernel.collected)
        return modules_state.resolve(kernel, name, self.running if asked else None, self.system)

    def _needs_no_load(self, name):
        kernel = self.by_release.get(self.judged)
        if kernel is not None and name in kernel.builtin:
            return True
        return bool(kernel is not None and kernel.running and self.running and self.running.loaded.get(name) == "Live")

    def _boot_row(self, name, own):
        """Whether the module will be available after the next boot; that a module is loaded now does not prove it."""
        kernel = self.by_release.get(self.next_boot["release"])
        if kernel is None:
            after = modules_state.Verdict(own.module, modules_state.UNKNOWN, "no_tree",
                                          "the kernel that boots next is not known")
        else:
            after = modules_state.resolve(kernel, name, None, self.system)
            if kernel.running and after.state not in modules_state.AVAILABLE and own.state == modules_state.BUILTIN:
                after = own
            elif kernel.running and not kernel.collected and own.cause == "proc_modules":
                # Its files were not collected, but a loaded module has one.
                after = modules_state.Verdict(own.module, modules_state.LOADABLE, own.cause, own.evidence)
        spellings = {name, own.module, after.module} - {None}
        by = [place for spelling in sorted(spellings) for place in self.boot.names.get(spelling, [])]
        listed = None if self.collected["modules_load"] in (DENIED, UNPARSED, UNCOLLECTED) and not by else bool(by)
        state, cause = self._at_boot(kernel, after, by, listed)
        return {"persisted": listed, "persisted_by": by[:3], "state_next_boot": after.state, "at_boot": state,
                "at_boot_cause": cause}

    def _at_boot(self, kernel, after, by, listed):
        if after.state == modules_state.BUILTIN:
            return "builtin", after.evidence
        if after.state in ("absent", "installable", "unknown"):
            return ("unknown" if after.state == "unknown" else "absent"), after.evidence
        blocks = self.policy.blocks_of(self.host, kernel, after.module, kernel.builtin.__contains__)
        pulled_by = None if by else self._pulled_by(kernel, after.module)
        if by or pulled_by:
            # blacklist stops the listed module itself, not a module that another module needs (libkmod,
            # KMOD_PROBE_APPLY_BLACKLIST).
            at_boot = [block for block in _at_next_boot(blocks) if by
                       or block.by not in ("blacklist", "modprobe.blacklist", "alias_off")]
            if at_boot:
                # Each of them stops the load: a fix of the first one alone changes nothing.
                return ("blocked" if at_boot[0].effect == BLOCKS else "unknown",
                        "; ".join("%s:%d: %s" % (block.path, block.line, cut(block.text, TEXT_LIMIT))
                                  for block in at_boot[:2] if block.effect == at_boot[0].effect))
            if self.boot.service == "masked":
                return "on_demand", "listed, but %s is masked" % UNIT
            if self.boot.loader == "unknown" and not self.bundle:
                return "unknown", "listed, but nothing in the tree reads modules-load.d"
            return "loaded", "%s:%d" % (by[0]["file"],
                                        by[0]["line"]) if by else "needed by %s, which is listed" % pulled_by
        stopped = [block for block in blocks
                   if "autoload" in block.load_paths and block.effect == BLOCKS and block.by != "modules_disabled"]
        # An empty kernel.modprobe is no line about this module: another block comes first.
        stopped.sort(key=lambda block: block.by == "kernel_modprobe")
        if stopped and stopped[0].by == "kernel_modprobe":
            return "no_autoload", "not listed in modules-load.d, and kernel.modprobe is empty"
        if stopped:
            return "blocked", "not listed, and not loaded by itself: %s:%d: %s" % (
                stopped[0].path, stopped[0].line, cut(stopped[0].text, TEXT_LIMIT))
        if listed is None:
            return "unknown", "the lists of modules to load at boot %s" % (
                "were not collected" if self.collected["modules_load"] == UNCOLLECTED else "could not be read")
        return "on_demand", "not listed in modules-load.d%s" % self._passed_over(after.module)

    def _passed_over(self, module):
        """The file whose name does not end in .conf and that lists the module, in words."""
        if self._ignored is None:
            self._ignored = [(path, {each for _line, each in parse_modules_load(text, False)[0]})
                             for path, text in passed_over(self.host, "modules-load.d")]
        return next((": %s lists it, but its name does not end in .conf, so it is not read" % path
                     for path, names in self._ignored if module in names), "")

    def _pulled_by(self, kernel, module):
        """A module that is listed for the boot and hard-depends on `module`, or None."""
        if not kernel.collected:
            # Without the index, what cannot load without the module shows that it is needed.
            return next((name for name in sorted(self.boot.names)
                         if name.startswith(_module_data.PROVEN_BY.get(module, ()))), None)
        if kernel.release not in self.boot_closures:
            pulled = {}
            for listed in sorted(self.boot.names):
                for target in ([listed] if listed in kernel.dep else kernel.aliases_of(listed)):
                    if _at_next_boot(self.policy.blocks_of(self.host, kernel, target, kernel.builtin.__contains__)):
                        continue
                    for dependency in kernel.dependencies_of(target):
                        pulled.setdefault(dependency, target)
            self.boot_closures[kernel.release] = pulled
        return self.boot_closures[kernel.release].get(module)


def _no_release(host, node):
    """A name for the release of a bundle that lacks it but has evidence for any kernel of the node, or None."""
    paths = ("/proc/modules", "/etc/modprobe.d", "/usr/lib/modprobe.d", "/lib/modprobe.d")
    return UNKNOWN_RELEASE if node["place"] == BUNDLE and any(host.exists(path) for path in paths) else None


def _at_next_boot(blocks):
    """The blocks that stop a load at boot, certain blocks first; modules_disabled ends with the running kernel."""
    return sorted((block for block in blocks if "boot" in block.load_paths and block.by != "modules_disabled"),
                  key=lambda block: block.effect != BLOCKS)


def _judged_release(requested, running, next_boot, releases):
    if requested is None:
        return running or next_boot
    if requested != running and requested not in releases:
        raise _errors.BadInput("kernel %r is not installed; installed: %s" % (requested, ", ".join(releases) or "none"))
    return requested


def _grouped(verdicts):
    """Kernels with the same verdict as one group, with the evidence for the newest of them."""
    groups = []
    for kernel, verdict in verdicts:
        for group in groups:
            if group["key"] == verdict.key():
                group["releases"].append(kernel.release)
                break
        else:
            groups.append({"key": verdict.key(), "releases": [kernel.release], "state": verdict.state,
                           "cause": verdict.cause, "evidence": verdict.evidence, "package": verdict.package})
    for group in groups:
        del group["key"]
    return groups


def boot_loader_of(host, init):
    """The reader of the lists: `systemd`, `openrc`, `sysvinit` or `unknown`. `init`: the running one or None."""
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
        self.names, self.unread = {}, []
        self.status, paths = effective_files(host, "modules-load.d")
        first_word_only = loader in ("openrc", "sysvinit")
        if first_word_only:
            # OpenRC on Alpine and Debian's kmod script read it; systemd only by a link in modules-load.d.
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
