# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The form in which a kernel has a module.

`loaded | builtin | loadable | installable | absent | unknown`, the cause as a word and the evidence as a sentence. A
module whose evidence could not be read is `unknown`, never `absent`; a configuration proves no shipped file."""

import collections

from ... import _module_data, _versions
from ..._host.host import OK

LOADED, BUILTIN, LOADABLE, INSTALLABLE, ABSENT, UNKNOWN = ("loaded", "builtin", "loadable", "installable", "absent",
                                                           "unknown")
# The kernel has the module now or loads it on request.
AVAILABLE = (LOADED, BUILTIN, LOADABLE)
# Causes that the configuration proves, regardless of loaded and installed modules.
_NOT_BUILT = ("config_off", "netfilter_off", "legacy_off", "modules_off")


class Verdict(collections.namedtuple("Verdict", "module state cause evidence package")):
    """`state`, `cause`, `evidence`, `module`, the name that this kernel has for it, and the `package` that has it."""

    def key(self):
        """Verdicts on several kernels with the same key are the same; their evidence, which names files, differs."""
        return (self.state, self.cause, self.package is None)


Verdict.__new__.__defaults__ = (None,)


def resolve(kernel, name, running, system):
    """`Verdict` for `name` on `kernel`. `running` is the running kernel's own evidence (`RunningKernel`) or None where
    only the tree counts, as for the next boot; `system` is `{"id", "id_like", "version_id"}` of the distribution, for
    the package that has it."""
    names = [name]
    if not (name in kernel.dep or name in kernel.builtin or (running and name in running.loaded)):
        names += [alias for alias in kernel.aliases_of(name) if alias != name]
    renamed, gone_by = _module_data.RENAMES.get(name, (None, None))
    if renamed and name not in kernel.dep and _versions.within(kernel.release, since=gone_by):
        names.append(renamed)
    verdicts = [_resolve_name(kernel, candidate, running) for candidate in names]
    # The first name that the kernel has; without one, a name that a package or a reason is known for, or the last one.
    best = next((verdict for states in (AVAILABLE, (INSTALLABLE,), (UNKNOWN,)) for verdict in verdicts
                 if verdict.state in states), verdicts[-1])
    if best.state == ABSENT and best.cause not in _NOT_BUILT and running and not running.listed:
        return Verdict(best.module, UNKNOWN, "denied",
                       "%s, and the list of loaded modules could not be read" % best.evidence)
    if best.state == ABSENT and best.cause in ("not_in_index", "config_m_not_shipped"):
        package = _package(kernel, best.module, system)
        if package:
            return Verdict(best.module, INSTALLABLE, "in_package",
                           "%s; package %s has it (%s)" % (best.evidence, package["name"], package["source"]), package)
    return best


def _resolve_name(kernel, name, running):
    return ((running and _from_running(kernel, name, running)) or _from_tree(kernel, name, running)
            or _from_config(kernel, name) or _missing(kernel, name, running))


def _from_running(kernel, name, running):
    if running.loaded.get(name) == "Live":
        return Verdict(name, LOADED, "proc_modules", "/proc/modules lists it as Live")
    if name in kernel.builtin:
        return Verdict(name, BUILTIN, "modules_builtin", "listed in modules.builtin of %s" % kernel.release)
    dependant = running.dependant_of(name)
    if dependant:
        # The kernel lists every module that it loaded, so a module that is not listed is compiled in; a bundle may hold
        # only a part of the list.
        return Verdict(name, LOADED if name in kernel.dep or not kernel.collected else BUILTIN, "dependant",
                       "%s is loaded and needs it" % dependant)
    if name in kernel.dep:
        return None
    proof = running.builtin_proof(name)
    return Verdict(name, BUILTIN, proof[0], proof[1]) if proof else None


def _from_tree(kernel, name, running):
    if name in kernel.builtin:
        return Verdict(name, BUILTIN, "modules_builtin", "listed in modules.builtin of %s" % kernel.release)
    if name in kernel.dep:
        path = kernel.dep[name][0]
        there = kernel.has_file(path)
        if there is None:
            return Verdict(name, UNKNOWN, "file_unseen",
                           "modules.dep lists %s, and whether the file exists is not known" % path)
        if not there:
            return Verdict(name, ABSENT, "file_missing", "modules.dep lists %s, but the file does not exist" % path)
        if kernel.index == "stale" and kernel.has_file("modules.dep.bin") is False:
            return Verdict(name, INSTALLABLE, "not_indexed", "%s; run depmod %s" % (kernel.index_cause, kernel.release))
        return Verdict(name, LOADABLE, "in_index", path)
    host_module, since = _module_data.MERGED.get(name, ("", None))
    if host_module != "" and _versions.within(kernel.release, since=since):
        if host_module is None and kernel.index == "ok":
            return Verdict(name, BUILTIN, "merged", "part of the kernel image since %s" % since)
        inner = host_module and _resolve_name(kernel, host_module, running)
        if inner and inner.state in AVAILABLE:
            return Verdict(inner.module, inner.state, "merged",
                           "part of %s since %s: %s" % (host_module, since, inner.evidence))
    if kernel.index in ("missing", "empty", "stale"):
        path = kernel.file_of(name)
        if path:
            return Verdict(name, INSTALLABLE, "not_indexed",
                           "%s exists, but is not in modules.dep; run depmod %s" % (path, kernel.release))
    return None


def config_value(kernel, name):
    """(symbol, value): y, m or n as in the configuration; None where it does not show it (fragment, unknown symbol)."""
    path, whole = kernel.config
    if path is None:
        return None, None
    symbols = kernel.config_symbols
    candidates = _symbols(kernel.release, name)
    for values in (("y", "m"), ("n",)):
        found = next((symbol for symbol in candidates if symbols.get(symbol) in values), None)
        if found:
            return found, symbols[found]
    # kconfig writes no line for a symbol whose dependencies are off. A missing line in a whole configuration means off
    # only where the symbol certainly belongs to this module.
    if whole and candidates and (name in _module_data.DEFAULT_MODULES or name in _module_data.CONFIG_SYMBOLS):
        return candidates[0], "n"
    return None, None


def _symbols(release, name):
    if name in _module_data.CONFIG_SYMBOLS:
        return [symbol for symbol, since, before in _module_data.CONFIG_SYMBOLS[name]
                if _versions.within(release, since, before)]
    for prefix, symbol_prefixes in _module_data.CONFIG_RULES:
        if name.startswith(prefix):
            if name[3:].isupper():
                symbol_prefixes = symbol_prefixes[::-1]  # xt_MASQUERADE is a target, xt_comment a match.
            return [symbol_prefix + name[len(prefix):].upper() for symbol_prefix in symbol_prefixes]
    return []


def _from_config(kernel, name):
    symbol, value = config_value(kernel, name)
    return Verdict(name, BUILTIN, "kernel_config",
                   "CONFIG_%s=y in %s" % (symbol, kernel.config[0])) if value == "y" else None


def _option_off(kernel, options):
    """A sentence about the first of `options` that the configuration lists as not set, or None; an option that it does
    not list proves nothing."""
    off = next((option for option in options if kernel.config_symbols.get(option) == "n"), None)
    return "CONFIG_%s is not set in %s" % (off, kernel.config[0]) if off else None


def _missing(kernel, name, running):
    symbol, value = config_value(kernel, name)
    setting = "CONFIG_%s%s in %s" % (symbol, "=m" if value == "m" else " is not set", kernel.config[0]) if value else ""
    for cause, options, names in _module_data.WIDE_OPTIONS:
        off = _option_off(kernel, options) if name.startswith(names) else None
        if off:
            return Verdict(name, ABSENT, cause, off)
    modules_off = _option_off(kernel, ("MODULES",)) or (
        "this kernel loads no modules (CONFIG_MODULES is not set)"
        if running and running.supports_modules is False else None)
    if modules_off:
        if value:
            return Verdict(name, ABSENT, "modules_off", modules_off)
        return Verdict(name, UNKNOWN, "no_evidence",
                       "%s, and whether the capability is built in is not known" % modules_off)
    if not kernel.collected:
        if value == "n":
            return Verdict(name, ABSENT, "config_off", setting)
        needed = running and running.loaded and _depends_on(name)
        if needed and name not in running.loaded and running.loaded.get(needed) == "Live":
            return Verdict(name, UNKNOWN, "not_loaded", "it is not loaded, and not built in, because %s is a module"
                           % needed)
        if running and running.loaded and name not in running.loaded:
            return Verdict(name, UNKNOWN, "not_listed", "it is not loaded; %s" % kernel.index_cause)
        return Verdict(name, UNKNOWN, "no_tree", "; ".join(part for part in (setting, kernel.index_cause) if part))
    if kernel.index == "no_tree":
        cause = "tree_gone" if kernel.running else "no_tree"
        if value == "n":
            return Verdict(name, ABSENT, "config_off", setting)
        if value:
            return Verdict(name, ABSENT, cause, "%s; %s" % (kernel.index_cause, setting))
        return Verdict(name, UNKNOWN, cause, "%s, and whether it is built in is not known" % kernel.index_cause)
    if kernel.index == "unreadable":
        return Verdict(name, UNKNOWN, "denied" if "is not readable" in kernel.index_cause else "unparsed",
                       kernel.index_cause)
    if value == "m":
        return Verdict(name, ABSENT, "config_m_not_shipped",
                       "%s, but the modules of %s do not include it" % (setting, kernel.release))
    if value == "n":
        return Verdict(name, ABSENT, "config_off", setting)
    if kernel.builtin_status != OK:
        return Verdict(name, UNKNOWN, "no_evidence",
                       "not in modules.dep, and modules.builtin of %s is %s" % (kernel.release, kernel.builtin_status))
    return Verdict(name, ABSENT, "not_in_index", "neither in modules.dep nor in modules.builtin of %s" % kernel.release)


def _depends_on(name):
    """A module without which this one cannot be, or None."""
    return _module_data.DEPENDS_ON.get(name) or next(
        (needed for prefix, needed in sorted(_module_data.DEPENDS_ON.items()) if prefix.endswith("_")
         and name.startswith(prefix)), None)


def _package(kernel, name, system):
    ids = [system.get("id") or ""] + (system.get("id_like") or [])
    for row in _module_data.PACKAGES:
        if (name in row["modules"] and row["release"] in kernel.release and any(known in ids for known in row["os"])
                and _versions.within(system.get("version_id"), row["since"], row["before"])):
            return {"name": row["package"].format(release=kernel.release), "source": row["source"]}
    return None


class RunningKernel:
    """The state that the running kernel reports; for a live place only. `loaded`: {module: Live | Loading | Unloading},
    `listed`: whether that list could be read; `supports_modules`: False without CONFIG_MODULES, None if unknown."""

    def __init__(self, host, loaded, supports_modules):
        self._host = host
        self.listed = loaded is not None
        self.loaded = loaded or {}
        self.supports_modules = supports_modules
        # The file is empty until a table exists. Its lines prove that tables exist; the lines of the two other files
        # prove that extensions exist.
        self._tables = {}
        for family, prefix in (("ip", "iptable_"), ("ip6", "ip6table_")):
            for table in host.read_text("/proc/net/%s_tables_names" % family).text.split():
                self._tables[prefix + table] = "/proc/net/%s_tables_names" % family
        self._extensions = set(host.read_text("/proc/net/ip_tables_matches").text.split())
        self._targets = set(host.read_text("/proc/net/ip_tables_targets").text.split())

    def dependant_of(self, name):
        """A module that is loaded and does not load without `name`, or None."""
        if name in self.loaded:
            return None
        return next((other for other in sorted(self.loaded)
                     if self.loaded[other] == "Live" and other.startswith(_module_data.PROVEN_BY.get(name, ()))), None)

    def builtin_proof(self, name):
        """(cause, evidence) where the running kernel has `name` and does not list it as a loaded module, or None."""
        if name in self.loaded:
            return None
        folder = "/sys/module/" + name
        # Code that is built in gets a directory too, if it has parameters; only a module has initstate and refcnt.
        if (self._host.is_dir(folder) and not self._host.exists(folder + "/initstate")
                and not self._host.exists(folder + "/refcnt")):
            return "sys_module", "%s exists without initstate: compiled in" % folder
        if not self.listed:
            return None  # Without the list, `name` may also be a loaded module.
        proof = _module_data.PROC_PROOFS.get(name)
        if proof and self._host.exists(proof):
            return "proc_net", "%s exists and no module of that name is loaded" % proof
        if name in self._tables:
            return "proc_net", "%s lists its table and no module of that name is loaded" % self._tables[name]
        short = name[3:] if name.startswith("xt_") else ""
        if short and short in (self._targets if short.isupper() else self._extensions):
            return "proc_net", "/proc/net/ip_tables_%s lists it and no module of that name is loaded" % (
                "targets" if short.isupper() else "matches")
        return None
