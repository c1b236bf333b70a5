# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Converts outputs of programs to the kernel files with the same content. PRIVATE to the collection."""

import ipaddress
import json
import re

from ...module_utils import _names
from . import beside, interfaces, kernel_values

_LSMOD = re.compile(r"^(\S+)[ \t]+(\d+)[ \t]+(-?\d+)(?:[ \t]+(\S*))?[ \t]*$", re.MULTILINE)
# Numbers have as many digits as 64 bits have.
_COUNTER = re.compile(r"\b(\w{1,64})=(\d{1,20})(?!\d)")
_MARK = re.compile(r"[0-9]{1,10}\Z")
_SYSCTL = re.compile(r"^[ \t]{0,80}([a-z][\w./-]{2,200})[ \t]+=[ \t]?(.*)$", re.MULTILINE)
_SERVICE = re.compile(r"-A -([tu]|-sctp-service|f) (\S+)(?: -s (\S+))?")
_REAL = re.compile(r"-a -([tu]|-sctp-service|f) (\S+) -r (\S+) (?:-(g|m|i) )?(?:-w (\d+))?")
_HEADING = ["IP Virtual Server version 1.2.1 (size=4096)", "Prot LocalAddress:Port Scheduler Flags",
            "  -> RemoteAddress:Port Forward Weight ActiveConn InActConn"]
# The head of ipvsadm -L, or a row of it in the output of grep.
_LISTED = re.compile(r"^Prot LocalAddress:Port +(?:Scheduler Flags|Conns|CPS)|^  -> [\d.]{7,15}:\d", re.MULTILINE)
# ipvsadm -L with --stats or --rate: numbers in place of the scheduler and the weight.
_COUNTED = re.compile(r"\d+[KMGT]?(?: +\d+[KMGT]?){4}\s*\Z")
_SERVER_LINE = re.compile(r"(?:\s*(->)\s+(?!RemoteAddress)|(TCP|UDP|SCTP|FWM)\s+)(\S+)\s*(.*)")
_IN_FILE = re.compile(r"(?:[0-9A-F]{8}|\[[0-9a-f:]{39}\]):[0-9A-F]{4}\Z")
# kubernetes pkg/proxy/ipvs/ipset.go
_OF_SERVICES = re.compile(r"KUBE-(6-)?(CLUSTER-IP|EXTERNAL-IP|EXTERNAL-IP-LOCAL|LOAD-BALANCER|NODE-PORT-(TCP|UDP))\Z")
_CHOICE = re.compile(r"^(/\S+) - (?:family \S+ )?priority (\d{1,8})\b.*$", re.MULTILINE)
_SET = re.compile(r"^create (\S+) (\S+)(?: (.*))?$", re.MULTILINE)
_ENTRY = re.compile(r"^add (\S+) ", re.MULTILINE)
_KERNEL_LINE = re.compile(r"(?:(?:<\d+>)?\[[^\]]{5,40}\] .*|.{0,300}? kernel: (.*)|nf_conntrack: .*)\Z")
_HEALTH_KEY = re.compile(r"\{[^{}]{0,400}\"(?:lastUpdated|currentTime)\"")
_STATUS_LINE = re.compile(r"HTTP/1\.[01] ([0-9]{3})\b")
_FILE_NAME = re.compile(r"\A[\w./-]{1,200}:(?=(?:kubeproxy|rest_client|kubernetes|process)_)")
_VALUE = re.compile(r"[-+]?(?:\d[\w.+-]{0,40}|Inf|NaN)\Z")
_NO_VALUE = re.compile(r"[a-z_]{1,200}(?:\{[^\n]*\})?\Z")
_CHECKED_FILE = re.compile(r"reading kernel config from /boot/config-([\w.+-]{1,100}) \.\.\.")
_CHECKED = re.compile(r"^[ \t]{0,8}- CONFIG_([A-Z0-9_]{1,80}): (enabled|missing)( \(as module\))?", re.MULTILINE)
_FORWARDS = {"g": "Route", "m": "Masq", "i": "Tunnel", None: "Route"}


def proc_modules(text: str) -> str:
    """/proc/modules from the output of lsmod."""
    rows = [found for found in _LSMOD.findall(text) if found[0] != "Module"]
    return "".join("%s %s %s %s Live 0x0\n" % (name, size, used, by.strip() + "," if by.strip() else "-")
                   for name, size, used, by in rows)


def nf_conntrack_stat(text: str) -> str:
    """/proc/net/stat/nf_conntrack from the output of conntrack -S: one line per CPU."""
    rows = [dict(_COUNTER.findall(line)) for line in text.splitlines() if line.strip().startswith("cpu=")]
    names = sorted({name for row in rows for name in row} - {"cpu", "entries"})
    if not names:
        return ""
    lines = ["entries " + " ".join(names)]
    lines += [" ".join(["0"] + ["%08x" % int(row.get(name, 0)) for name in names]) for row in rows]
    return "\n".join(lines) + "\n"


def sysctls(text):
    """{path below /proc/sys: value} from the output of sysctl -a, which prints a dot within a name as a slash."""
    return {key.translate(str.maketrans("./", "/.")): value for key, value in _SYSCTL.findall(text) if ".." not in key}


def ip_vs(text: str) -> str:
    """/proc/net/ip_vs from the output of ipvsadm -Sn or -Ln, or from that file itself."""
    if _LISTED.search(text):
        rows = [_of_listing(line) for line in text.splitlines() if _SERVER_LINE.match(line)]
        return "\n".join(_HEADING + rows + [""])
    lines, servers = list(_HEADING), {}
    for line in text.splitlines():
        service, real = _SERVICE.match(line), _REAL.match(line)
        if service:
            servers[service.group(1),
                    service.group(2)] = [_virtual(service.group(1), service.group(2), service.group(3) or "wlc")]
        elif real and (real.group(1), real.group(2)) in servers:
            place = _place(real.group(3))
            if place:
                row = "  -> %s      %s    %s      0          0" % (place, _FORWARDS[real.group(4)], real.group(5) or 1)
                servers[real.group(1), real.group(2)].append(row)
    return "\n".join(lines + [row for rows in servers.values() if rows[0] for row in rows]) + "\n"


def _virtual(kind, place, scheduler):
    if kind == "f":
        return "FWM  %08X %s" % (int(place), scheduler) if _MARK.match(place) else None
    hexadecimal = _place(place)
    return "%s  %s %s" % ({"t": "TCP", "u": "UDP"}.get(kind, "SCTP"), hexadecimal, scheduler) if hexadecimal else None


def _of_listing(line):
    """A line of /proc/net/ip_vs from one of ipvsadm -Ln; a name in place of an address stays, and is not read."""
    arrow, kind, place, rest = _SERVER_LINE.match(line).groups()
    if kind == "FWM":
        return "FWM  %08X %s" % (int(place), _scheduler(rest)) if _MARK.match(place) else line
    place = place if _IN_FILE.match(place) else _place(place) or place
    if _COUNTED.match(rest):
        rest = "Masq    1      0          0" if arrow else ""
    return "  -> %s      %s" % (place, rest) if arrow else "%s  %s %s" % (kind, place, _scheduler(rest))


def _scheduler(rest):
    """The scheduler; the time of `persistent` has no number of jiffies here."""
    return rest.split()[0] if rest.split() else "-"


def _place(text):
    address, _colon, port = text.rpartition(":")
    try:
        found = ipaddress.ip_address(address.strip("[]"))
        return ("%08X:%04X" % (int(found),
                               int(port))) if found.version == 4 else "[%s]:%04X" % (found.exploded, int(port))
    except ValueError:
        return None


def ipset_list(text: str) -> str:
    """The output of ipset list -t from that of ipset save or ipset list."""
    if not _SET.search(text):
        return _without_members(text)
    counts = {}
    for name in _ENTRY.findall(text):
        counts[name] = counts.get(name, 0) + 1
    return "\n".join("Name: %s\nType: %s\nHeader: %s\nNumber of entries: %d\n"
                     % (name, kind, header, counts.get(name, 0)) for name, kind, header in _SET.findall(text))


def ipset_members(text):
    """{path: the output of ipset save} of the sets whose members a text has as a whole; of kube-proxy's sets only
    the ones of Services."""
    found, entries = {}, {}
    for row, name in re.findall(r"^(add (\S+) \S+)", text, re.MULTILINE):
        entries.setdefault(name, []).append(row + "\n")
    for name, kind, _header in _SET.findall(text):
        found[name] = "create %s %s\n" % (name, kind) + "".join(entries.get(name, ()))
    for each in re.split(r"^(?=Name: )", text, flags=re.MULTILINE)[1:]:
        head, has_members, members = each.partition("\nMembers:")
        name, rows = head.split("\n")[0][len("Name: "):].strip(), re.findall(r"^([0-9a-f]\S*)", members, re.MULTILINE)
        number = re.search(r"^Number of entries: (\d{1,9})\b", head, re.MULTILINE)
        if number and int(number.group(1)) == len(rows) and (has_members or not rows):
            found[name] = "create %s\n" % name + "".join("add %s %s\n" % (name, row) for row in rows)
    return {_names.BUNDLE_COMMANDS + "/ipset save " + name: content for name, content in found.items()
            if re.match(r"[\w.:-]{1,31}\Z", name) and (not name.startswith("KUBE-") or _OF_SERVICES.match(name))}


def _without_members(text):
    """A listing of sets without their members, which are counted where an old version prints no number."""
    found = []
    for each in re.split(r"^(?=Name: )", text, flags=re.MULTILINE)[1:]:
        head, has_members, members = each.partition("\nMembers:")
        found += [line for line in head.splitlines() if ": " in line]
        if has_members and "\nNumber of entries: " not in head:
            found.append("Number of entries: %d" % sum(bool(line.strip()) for line in members.splitlines()))
        found.append("")
    return "\n".join(found + [""])


def kernel_log(text):
    """The lines of the kernel in dmesg or in the text of a journal, as dmesg prints them."""
    found = [(line, _KERNEL_LINE.match(line)) for line in text.splitlines()]
    return "".join("%s\n" % (match.group(1) or line) for line, match in found if match)


def checked_config(text):
    """(release or None, configuration) from the output of check-config of k3s and Docker, which names the options that
    it looked for."""
    release = _CHECKED_FILE.search(text)
    lines = ["# CONFIG_%s is not set" % name if state == "missing" else "CONFIG_%s=%s" % (name, "m" if module else "y")
             for name, state, module in _CHECKED.findall(text)]
    return release.group(1) if release else None, "\n".join(lines + [""])


def conntrack_of_metrics(text):
    """{path of a file of the kernel: its content} from metrics of node_exporter (collector/conntrack_linux.go)."""
    found = dict(re.findall(r"^[ \t]*node_nf_conntrack_(entries(?:_limit)?)(?:\{[^}\n]{0,300}\})? +([\d.e+]{1,24})\s*$",
                            text, re.MULTILINE))
    names = {"entries": "nf_conntrack_count", "entries_limit": "nf_conntrack_max"}
    return {"/proc/sys/net/netfilter/" + names[key]: "%d\n" % float(value) for key, value in found.items()
            if re.match(r"\d{1,12}(?:\.\d{1,12})?(?:e\+\d\d?)?\Z", value)}


def alternatives(text):
    """{program: path of the current choice} from the output of alternatives --display; empty for any other text."""
    current = re.search(r"link currently points to (/\S+)", text)
    name = re.match(r"([\w.+-]+) - ", text)
    if not current or not name:
        return {}
    found, within = {name.group(1): current.group(1)}, False
    for line in text.splitlines():
        if " - priority " in line:
            within = line.startswith(current.group(1) + " ")
        slave = re.match(r"\s+(?:slave|follower) ([\w.+-]+): (/\S+)", line)
        if within and slave:
            found[slave.group(1)] = slave.group(2)
    return found


def alternatives_state(text):
    """(path, content, paths of the choices) of the file in which update-alternatives (Debian) or alternatives (Red Hat)
    keeps what it displays."""
    name = re.match(r"([\w.+-]+) - (status is )?(auto|manual)", text)
    choices = [[path, int(priority), {}] for path, priority in _CHOICE.findall(text)] if name else []
    if not choices:
        return None, "", []
    for part, choice in zip(_CHOICE.split(text)[3::3], choices):
        choice[2].update(re.findall(r"^[ \t]+(?:slave|follower) ([\w.+-]+): (/\S+)", part, re.MULTILINE))
    best = re.search(r"best'? version is (/[^\s.]\S*?)\.?$", text, re.MULTILINE)
    places = dict(re.findall(r"^[ \t]+(?:link|slave) ([\w+-][\w.+-]*) is (/\S+)", text, re.MULTILINE))
    names = sorted({each for choice in choices for each in choice[2]})
    lines = [name.group(3)] + [word for each in [name.group(1)] + names for word in (
        each, places.get(each, "/usr/sbin/" + each))][1:] + [""]
    highest = max(choice[1] for choice in choices)
    for path, priority, slaves in choices:
        # Of several with the highest priority the display names the one that mode auto takes.
        above = bool(best) and path == best.group(1) and priority == highest
        lines += [path, str(priority + above)] + [slaves.get(each, "") for each in names]
    folder = "/var/lib/alternatives/" if name.group(2) else "/var/lib/dpkg/alternatives/"
    return folder + name.group(1), "\n".join(lines + ["", ""]), [choice[0] for choice in choices]


def healthz(text):
    """The answer of /healthz or /livez in one of its layouts, alone, below its status line where the text has it."""
    found = _HEALTH_KEY.search(text)
    try:
        _value, end = json.JSONDecoder().raw_decode(text, found.start()) if found else (None, 0)
    except (ValueError, RecursionError):
        return text
    codes = _STATUS_LINE.findall(text[:found.start()]) if found else []
    return ("HTTP/1.1 %s\n\n" % codes[-1] if codes else "") + text[found.start():end] if found else text


def metrics(text):
    """Samples, one a line, of a text with metrics: indented, cut at the width of a terminal, with the names of files
    that grep prints, or as Prometheus answers in JSON."""
    if '"__name__"' in text:
        return "".join(_samples_of_json(text))
    lines = []
    for line in text.splitlines():
        line = _FILE_NAME.sub("", line.strip())
        if lines and _VALUE.match(line) and _NO_VALUE.match(lines[-1]):
            lines[-1] += " " + line
        else:
            lines.append(line)
    return "\n".join(lines + [""])


def _samples_of_json(text):
    """Samples of an answer of Prometheus (prometheus.io/docs/prometheus/latest/querying/api)."""
    start = re.search(r"[\[{]", text)
    try:
        waiting = [json.JSONDecoder().raw_decode(text, start.start())[0]] if start else []
    except (ValueError, RecursionError):
        return
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting += reversed(value)
        elif isinstance(value, dict) and isinstance(value.get("metric"), dict):
            pairs = value.get("values") or [value.get("value")]
            labels = {key: each for key, each in value["metric"].items() if isinstance(each, str)}
            if isinstance(pairs, list) and isinstance(pairs[-1], list) and pairs[-1] and labels.get("__name__"):
                yield "%s{%s} %s\n" % (
                    labels.pop("__name__"), ",".join("%s=%s" % (key, json.dumps(labels[key], ensure_ascii=False))
                                                     for key in sorted(labels)), pairs[-1][-1])
        elif isinstance(value, dict):
            waiting += reversed(list(value.values()))


def with_ending(path, ending):
    name = path.rsplit("/", 1)[-1]
    return name if name.endswith(ending) else name + ending


# Outputs that become the files with the same content: {kind: the function that returns {path: content}}.
_NETWORK = re.compile(r"(?<![\w./:])([0-9a-f.:]{2,45}/\d{1,3})(?![\w./:])")


def pod_networks(text):
    """{path: a network of pods on each line} from the podCIDRs that kubectl printed."""
    found = list(dict.fromkeys(_NETWORK.findall(text)))
    return {_names.BUNDLE_POD_NETWORKS: "".join(network + "\n" for network in found)} if found else {}


FILES = {
    "pod_networks": pod_networks,
    "values": kernel_values.of_paths, "enabled": kernel_values.enabled_units,
    "tuned": kernel_values.tuned_profile,
    "ufw_status": kernel_values.ufw_settings,
    # Of a listing that is cut, or may be, nothing follows from what it lacks.
    "addresses": lambda text: dict(interfaces.of_text(text, True), **interfaces.routes_of_text(text, False)),
    "some_addresses": lambda text: dict(interfaces.of_text(text, False), **interfaces.routes_of_text(text, False)),
    "routes": lambda text: dict(interfaces.of_text(text, False), **interfaces.routes_of_text(text, True)),
    "some_routes": lambda text: dict(interfaces.of_text(text, False), **interfaces.routes_of_text(text, False)),
    "lsmod": lambda text: {"/proc/modules": proc_modules(text)},
    "conntrack": lambda text: {"/proc/net/stat/nf_conntrack": nf_conntrack_stat(text)},
    "conntrack_count": lambda text: {"/proc/sys/net/netfilter/nf_conntrack_count": text.strip() + "\n"},
    "node_metrics": conntrack_of_metrics, **beside.FILES,
    "ipvs": lambda text: {"/proc/net/ip_vs": ip_vs(text)},
    "kube_proxy_metrics": lambda text: {_names.BUNDLE_ANSWERS + "/metrics": metrics(text)},
}
