# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every conntrack and bridge sysctl: now, at boot, and after kube-proxy has started."""

from ..._conntrack import predict
from ..._conntrack.keys import BRIDGE, BRIDGE_6, BUCKETS, FORWARD, FORWARD_6, KEYS, MAX, dotted, names_of
from ..._conntrack.predict import PER_HASHSIZE, default_buckets, default_limit, rounded_buckets
from ..._host.host import ABSENT
from ..processes import reason_of, status_of_notes
from .now import read_key
from .sysctl_boot import DAEMON_JSON, UNIT, SysctlBoot, passed_over_lines, rival_writes

# `at_boot` of a module -> whether it is in the kernel when sysctl.d is applied.
_EARLY = {"loaded": True, "builtin": True, "on_demand": False, "no_autoload": False, "blocked": False, "absent": False}
# A reason names a path, and is repeated in the row of each key.
REASON_LIMIT = 300
# Keys that fail where nothing sets them, or pass by the default of their module.
_SWITCHES = (FORWARD, FORWARD_6, BRIDGE, BRIDGE_6)
_UNSET = "no collected file of sysctl.d sets it, and not all files were collected"
# What the interfaces of pods are called; veth* stands for any other name.
_OF_PODS = ("cali*", "eni*", "lxc*", "veth*")
_OF_INTERFACE = "net/ipv4/conf/%s/rp_filter"
_LIMIT_FIELDS = "conntrack.maxPerCore and conntrack.min"


def _is_early(row):
    """Whether a module is in the kernel when sysctl.d is applied, None where that is not known. A module that is
    listed for the boot is, also where the modules of the kernel that boots next were not seen: whether that kernel has
    it is judged of the module."""
    if row.get("at_boot") == "unknown" and row["state_next_boot"] == "unknown" and row["persisted"]:
        return None if row["blocks"] else True
    return _EARLY.get(row.get("at_boot"))


class Setting:
    """What the predicted values depend on: `live`, `modules` ({name: row of node_kernel_modules}), `loader`,
    `memory_bytes`, `release`, `hashsize` and, of kube-proxy, `limit` (a Wish), `numbers` ({field: Wish}), `by` and
    `forwards` (whether it turns on forwarding)."""

    def __init__(self, **fields):
        for name, value in fields.items():
            setattr(self, name, value)


class Keys:
    """`rows` of all keys, `missing` ones, `status` and `unread` of sysctl.d, and `fresh_limit`, the limit of a table
    that is created now."""

    def __init__(self, host, setting):
        self._host, self._setting = host, setting
        with host.noting() as of_files:
            self._boot = SysctlBoot(host, setting.loader)
        with host.noting() as of_rivals:
            self._rivals = rival_writes(host, setting.loader)
        notes = dict(of_rivals, **of_files)
        self.status = status_of_notes(notes) if notes else self._boot.status
        self.unread = [{"file": path, "text": reason_of(host, path, notes[path])} for path in sorted(notes)]
        # Why a value may differ: unread files of sysctl.d, of docker, and of programs that may write any key.
        self._files_unread = self._first_unread(of_files)
        self._docker_unread = self._first_unread(path for path in of_rivals if path == DAEMON_JSON)
        self._rivals_unread = self._first_unread(path for path in of_rivals if path != DAEMON_JSON)
        self._passed_over = passed_over_lines(host)
        self.rows, self.missing = [], []
        self.fresh_limit = self._default(KEYS[0], None).value
        for key in KEYS:
            self._take(key)

    def _first_unread(self, paths):
        known = set(paths)
        return next((row["text"][:REASON_LIMIT] for row in self.unread if row["file"] in known), None)

    def _predicted(self, key, early, assignment, now):
        """(the `Stage` at boot, why its value is not known or None): a file that could not be read may set any key."""
        default, unread = self._default(key, now), None
        if (self._files_unread and early is not False and not self._boot.masked
                and not self._boot.is_certain(*names_of(key.key))):
            assignment, default, unread = None, predict.Stage(None, None), self._files_unread
        elif assignment is None and key.key in _SWITCHES and not self._boot.whole and not self._boot.masked:
            default, unread = predict.Stage(None, None), _UNSET
        boot = predict.at_boot(key.key, early, None if self._boot.masked else assignment, default, self._rivals)
        if self._rivals_unread:
            boot, unread = predict.Stage(None, None), self._rivals_unread
        if key.key == FORWARD:
            unread = unread or self._docker_unread
        return boot, unread if boot.value is None else None

    def _take(self, key):
        status, now = self._read(key.key) if self._setting.live else (ABSENT, None)
        early = True if key.module is None else _is_early(self._setting.modules.get(key.module) or {})
        assignment = self._boot.assignment(*names_of(key.key))
        boot, unread = self._predicted(key, early, assignment, now)
        final = self._final(key, boot)
        ignored = assignment is None and next((self._passed_over[name] for name in names_of(key.key)
                                               if name in self._passed_over), None)
        row = {
            "ignored_by": ignored.where if ignored else None,
            "key": dotted(key.key), "module": key.module, "now": now, "at_boot": boot.value, "at_boot_by": boot.by,
            "after_kube_proxy": final.value, "owner": final.by, "survives": predict.survives(now, final),
            "assigned": predict.number(assignment.value) if assignment else None, "assigned_by": assignment.where
            if assignment else None, "overruled": predict.overruled(assignment, key.key, final),
            "late": assignment is not None and (None if early is None else not early),
            "kube_proxy_decides": final is not boot, "missing": self._setting.live and status == ABSENT
            and key.module is not None, "reason": unread if unread and final.value is None
            else self._reason(key, early, assignment, boot, final)}
        self.rows.append(row)
        if row["missing"]:
            self.missing.append({"key": row["key"], "module": key.module,
                                 "reason": "%s is not in the running kernel" % key.module})

    def _read(self, key):
        status, now = read_key(self._host, key)
        for other in names_of(key)[1:]:
            now = read_key(self._host, other)[1] if now is None else now
        return status, now

    def rp_filters(self):
        """Rows of the reverse path filter of interfaces that come after the boot: a line that fits their name,
        otherwise the value of `default`; the kernel uses the higher one of it and `all` (Documentation ip-sysctl)."""
        every, later, rows = self._filter("all"), self._filter("default"), []
        for name in _OF_PODS:
            own = self._filter(name.replace("*", "0"), later)
            known = every.value is not None and own.value is not None
            by = every.by if known and every.value >= own.value else own.by
            rows.append({"interfaces": name, "all": every.value, "own": own.value,
                         "effective": max(every.value, own.value) if known else None, "by": by if known else None})
        return rows

    def _filter(self, name, default=None):
        """The `Stage` of an interface at boot; programs that write it later are left out."""
        key, boot = _OF_INTERFACE % name, self._boot
        if not boot.masked and not boot.is_certain(key):
            return predict.Stage(None, None)
        found = None if boot.masked else boot.assignment(key)
        if found:
            value = predict.number(found.value)
            return predict.Stage(value if isinstance(value, int) else None, found.where)
        return default or predict.Stage(0 if boot.masked or boot.whole else None, None)

    def _default(self, key, now):
        """The default of the kernel for a key, with the options of its modules."""
        option, where = self._setting.hashsize["option"], self._setting.hashsize["option_by"]
        if key.key == MAX:
            return predict.Stage(rounded_buckets(option) * PER_HASHSIZE,
                                 "%s (8 x hashsize)" % where) if option else predict.Stage(self._limit(now), None)
        if key.key == BUCKETS:
            return (predict.Stage(rounded_buckets(option), where)
                    if option else predict.Stage(default_buckets(self._limit(None), self._setting.release), None))
        return predict.Stage(key.default, None)

    def _limit(self, now):
        return default_limit(self._setting.memory_bytes, self._setting.release, now)

    def _final(self, key, boot):
        setting = self._setting
        if key.key == MAX:
            return predict.after_kube_proxy(boot, setting.limit, setting.by, _LIMIT_FIELDS)
        if key.key == BUCKETS:
            # kube-proxy raises the buckets to a quarter of the limit, and does not change a higher value.
            least = setting.limit.value and rounded_buckets(setting.limit.value // 4)
            return predict.Stage(least, setting.by) if least and boot.value is not None and boot.value < least else boot
        if setting.forwards and key.key == FORWARD or setting.by == "k3s" and key.key in (FORWARD, BRIDGE):
            return predict.Stage(1, setting.by)
        return predict.after_kube_proxy(boot, setting.numbers.get(key.proxy_field, predict.NOTHING), setting.by,
                                        "conntrack.%s" % key.proxy_field)

    def _reason(self, key, early, assignment, boot, final):
        if assignment is not None and self._boot.masked:
            return "%s is masked, so %s is not read" % (UNIT, assignment.where)
        if assignment is not None and early is False:
            return "%s is loaded after sysctl.d has been read, so %s is ignored" % (key.module, assignment.where)
        if early is None and key.module is not None and boot.value is None:
            return "whether %s is loaded before sysctl.d is read is not known" % key.module
        if final.by != boot.by:
            return "%s overrides it" % final.by
        ignored = None if assignment else self._passed_over.get(key.key)
        if ignored and not boot.by:
            return "%s sets it, but the name of the file does not end in .conf, so it is not read" % ignored.where
        return "set by %s" % boot.by if boot.by else "the default of the kernel"
