# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why kube-proxy has no connection to the API server: the rule or the route of this node that stops its packets.

Imported only where kube-proxy has no connection. Its packets are tried like those of any other client, with its user
and its cgroup; no packet is sent, and no name is resolved but those of /etc/hosts."""

import ipaddress
import re

from ..._host.host import ABSENT, OK
from ..._parse.kube.component_config import parse_component_config
from ..._rules.model.of_iptables import IptablesRules
from ..._rules.model.rule import Packet, Sender
from ..._rules.observation import TEXT_LIMIT, cut
from ..._rules.rules import REFUSALS, number_of
from ..._rules.services.services import Service, list_services
from ..._rules.tables import table_of
from ..processes import Process
from ..rules.nft_native import native_rows
from ..rules.rule_sets import rules_of

# In blocks, or in braces as in JSON.
_SERVER = re.compile(r"(?:^[ \t]*(?:-[ \t]+)?|[{,]\s*)\"?server\"?:\s*[\"']?https?://([^/\"'\s,}]+)", re.M)
_API_SERVER = "default/kubernetes:"
_TARGETS_LIMIT, _BLOCKS_LIMIT, _SECONDS = 4, 5, 2.0
# (table, hook, whether replies pass there); packets of the node pass the others.
_HOOKS = (("raw", "OUTPUT", False), ("mangle", "OUTPUT", False), ("filter", "OUTPUT", False),
          ("security", "OUTPUT", False), ("mangle", "POSTROUTING", False), ("raw", "PREROUTING", True),
          ("mangle", "PREROUTING", True), ("mangle", "INPUT", True), ("filter", "INPUT", True),
          ("security", "INPUT", True))
_REJECTING = re.compile(r"(blackhole|unreachable|prohibit) (default|[0-9a-f.:/]+)(?: .*?\btable (\S+))?")
_OF_OUTPUT = re.compile(r"\(hook (?:output|postrouting),")
_USER, _CGROUP = r"\bskuid (\d{1,10})(?![\d-])", r"\bcgroupv2 level (\d{1,3}) \"([^\"]*)\""
_BY_SENDER = re.compile(r"whether the rule \"(.*\b(?:cgroupv2|cgroup|skuid|skgid)\b.*)\" of chain (\S+) ")


def api_server_of(host, node, section):
    """`{"addresses", "source", "blocked_by", "because"}` of a kube-proxy without a connection to it."""
    process = Process(host, section["pid"], section["program"])
    rules = rules_of(host, node)
    services = [service for found in rules.rule_sets for service in list_services(found) or ()
                if service.name.startswith(_API_SERVER)]
    targets, source = _targets(host, section["api_sockets"]["connecting_to"], process, services)
    sender = _sender(host, process.pid)
    rows = [row for target in targets for row in _blocks(host, rules, target, sender)]
    places = [_text(target) for target in targets]
    unread = [name for name, status in sorted(rules.collected.items()) if status not in (OK, ABSENT)]
    unread += [] if host.find_binary("ip") else ["routes"]
    return {"addresses": places, "source": source, "blocked_by": rows[:_BLOCKS_LIMIT],
            "because": _because(rows, places, source, unread)}


def _because(rows, places, source, unread):
    if rows:
        return "the %s %s (%s) %s its packets to %s" % (
            rows[0]["kind"], rows[0]["text"], rows[0]["place"], "stops" if rows[0]["certain"] else "may stop",
            rows[0]["address"])
    if not places:
        return "the address of the API server is not known: %s" % source
    return "no rule and no route of this node stops its packets to %s (%s)%s" % (
        " and ".join(places), source, "; not all could be read: %s" % ", ".join(unread) if unread else "")


def _targets(host, attempts, process, services):
    """([(address, port)], where they come from). A packet to the Service kubernetes goes to its endpoints."""
    ends = {(service.address, service.port): [(address, port) for address, port, _protocol in service.endpoints or ()]
            for service in services}
    found, source = [_end_of(text) for text in attempts], "it tries to connect to it"
    if not found:
        server, source = _server(host, process), "the server of its kubeconfig"
        found = [_end_of(server)] if server else []
        if found and found[0] is None:
            found = [(address, int(server.rpartition(":")[2])) for address in _hosts(host, server.rpartition(":")[0])]
    if not found:
        found, source = sorted({end for each in ends.values() for end in each}), "the endpoints of Service kubernetes"
    if not found:
        return [], "neither its kubeconfig nor the rules of Service kubernetes show it"
    behind = [end for target in found if target is not None for end in ends.get(target) or [target]]
    return sorted(set(behind))[:_TARGETS_LIMIT], source


def _server(host, process):
    """`host:port` of the only server of its kubeconfig, or None. No other part of that file is kept."""
    path, config = process.option("kubeconfig"), process.option("config")
    if config:
        fields = parse_component_config(_read(host, process, config), "KubeProxyConfiguration").fields or {}
        connection = fields.get("clientConnection")
        path = connection.get("kubeconfig") if isinstance(connection, dict) else None
    servers = set(_SERVER.findall(_read(host, process, path)))
    if len(servers) != 1:
        return None
    server = servers.pop()
    return server if re.search(r":\d{1,5}\Z", server) else server + ":443"


def _read(host, process, path):
    """The text of a file of kube-proxy, empty where it cannot be read."""
    if not isinstance(path, str) or not path.startswith("/"):
        return ""
    with host.noting():
        if process.contained is False:
            return host.read_text(path).text
    if not process.contained or host.root != "/":
        return ""
    from ..._host.container import look_into
    return look_into(process.pid, process.start_time, [path], ())["texts"][path][1]


def _end_of(text):
    """(address, port) of `10.0.0.1:6443` or `[fd00::1]:6443`, None for a name."""
    host, _colon, port = text.rpartition(":")
    try:
        address = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return None
    return str(getattr(address, "ipv4_mapped", None) or address), int(port)


def _hosts(host, name):
    rows = [line.partition("#")[0].split() for line in host.read_text("/etc/hosts").text.splitlines()]
    found = [_end_of("[%s]:0" % row[0]) for row in rows if name in row[1:]]
    return [end[0] for end in found if end]


def _sender(host, pid):
    """The Sender of its packets, with the effective user and group."""
    text = host.read_text("/proc/%d/status" % pid).text
    owners = [re.search(r"^%s:\s+\d+\s+(\d+)" % name, text, re.M) for name in ("Uid", "Gid")]
    paths = [line[3:] for line in host.read_text("/proc/%d/cgroup" % pid).text.splitlines() if line.startswith("0::/")]
    # A path with /.. belongs to another cgroup namespace than that of this process.
    known = paths[0] if paths and "/.." not in paths[0] else None
    return Sender(*([found and int(found.group(1)) for found in owners] + [known, None]))


def _text(end):
    return ("[%s]:%d" if ":" in end[0] else "%s:%d") % end


def _blocks(host, rules, target, sender):
    """[{"kind", "place", "text", "address", "certain", "undo"}] of what stops packets to one address and port; what
    certainly does comes first."""
    family = "ipv6" if ":" in target[0] else "ipv4"
    rows = _route(host, target)
    backends = {found.backend for found in rules.rule_sets if found.family == family}
    for found in rules.rule_sets:
        if found.family == family:
            rows += _of_rule_set(found, target, sender, len(backends) > 1)
    service = Service(family, target[0], target[1], "tcp", _API_SERVER, [(target[0], target[1], "tcp")], True, True)
    rows += [_native(row, target) for row in native_rows(host, rules, lambda: ([service], True))
             if _is_native(row, sender)]
    return sorted(rows, key=lambda row: not row["certain"])


def _of_rule_set(found, target, sender, by_backend):
    rows, (address, port) = [], target
    for name, hook, replies in _HOOKS:
        table = table_of(found, name)
        if table is None or not table.committed or hook not in table.chains:
            continue
        state = None if name == "raw" else frozenset(("ESTABLISHED" if replies else "NEW",))
        rules, number = IptablesRules(table, REFUSALS), number_of(address)
        for otherwise in (None,) if replies else (None, True):
            packet = (Packet(sources=(number,), protocol="tcp", states=state) if replies else
                      Packet(destinations=(number,), destination=address, protocol="tcp", port=port, states=state,
                             from_node=True, sender=sender._replace(otherwise=otherwise)))
            ends, passed = rules.walked(hook, [packet])
            rule = ends.get(packet)
            if rule is None and not (table.chains[hook].policy == "DROP" and passed):
                continue
            program = {"ipv4": "iptables", "ipv6": "ip6tables"}[found.family] + ("-" + found.backend
                                                                                 if by_backend else "")
            text = rule.text if rule is not None else ":%s DROP" % hook
            undo = ("-D " + text[len("-A "):] if text.startswith("-A ") and len(text) <= TEXT_LIMIT else None
                    ) if rule is not None else "-P %s ACCEPT" % hook
            rows.append({"kind": "policy" if rule is None else "rule", "text": cut(text), "address": _text(target),
                         "place": "%s %s %s %s" % (found.family, found.backend, name, hook),
                         "certain": otherwise is None, "undo": undo and "%s -w 5 -t %s %s" % (program, name, undo)})
            break
    return rows


def _is_native(row, sender):
    """Whether a row is about packets that the node itself sends, and about this sender where the rule names one."""
    if row["kind"] == "unexpected_drop":
        return bool(_OF_OUTPUT.search(row["detail"]))
    doubted = _BY_SENDER.search(row["detail"]) if row["kind"] == "unjudged_table" else None
    user, group = (re.search(pattern, doubted.group(1)) if doubted else None for pattern in (_USER, _CGROUP))
    if user and sender.uid is not None and int(user.group(1)) != sender.uid:
        return False
    if group and sender.cgroup is not None:
        folders = sender.cgroup.strip("/").split("/")[:int(group.group(1))]
        return "/".join(folders) == group.group(2).strip("/")
    return bool(doubted)


def _native(row, target):
    doubted = _BY_SENDER.search(row["detail"]) if row["kind"] == "unjudged_table" else None
    text, chain = doubted.groups() if doubted else (row["text"], row["chain"])
    return {"kind": "rule", "text": cut(text), "address": _text(target), "certain": not doubted, "undo": None,
            "place": "nft table %s, chain %s" % (row["table"], chain)}


def _route(host, target):
    """A row where the kernel has no usable route to an address."""
    version, address = "-6" if ":" in target[0] else "-4", ipaddress.ip_address(target[0])
    done = host.run(["ip", version, "route", "get", target[0]], timeout=_SECONDS)
    if done.status != OK or (done.rc == 0 and not _REJECTING.match(done.out)):
        return []
    listed = host.run(["ip", version, "route", "show", "table", "all"], timeout=_SECONDS)
    held = []
    for match in filter(None, map(_REJECTING.match, listed.out.splitlines())):
        kind, network, table = match.groups()
        try:
            parsed = ipaddress.ip_network({"default": "::/0" if version == "-6" else "0.0.0.0/0"}.get(network, network))
        except ValueError:
            continue
        if address in parsed:
            held.append((parsed.prefixlen, "%s %s%s" % (kind, network, " table " + table if table else "")))
    text = max(held)[1] if held else (done.err or done.out).strip().partition("\n")[0]
    return [{"kind": "route", "text": cut(text), "address": _text(target), "certain": True,
             "place": "ip %s route" % version, "undo": "ip %s route del %s" % (version, text) if held else None}]
