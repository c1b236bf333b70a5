# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Joins about kube-proxy and kubelet. PRIVATE to the collection."""

from .values import above, doubt, rows_of, section

_IMAGE = "for example the one of registry.k8s.io. A restart with this image mends nothing."
_NATIVE_TABLES = ("ip kube-proxy", "ip6 kube-proxy")
_BROKEN = ("anchor_missing", "half_repaired", "emptied_chain", "dangling_jump")
_LIBRARIES = ("libm.so.6", "libxt_comment.so", "libxt_statistic.so")
# Seconds from which on kube-proxy or kubelet had the time to write its rules.
_SETTLED, _SYNCED = 120, 60
_OF_NODE_PORTS = ("Only virtual servers of NodePorts are missing, so nothing cleared the whole table. kube-proxy writes "
                  "them again within its syncPeriod (30 seconds): look again after a minute (ipvsadm -Ln). If they are "
                  "still missing, read its log for the port, see whether its nodePortAddresses holds an address of "
                  "this node, and restart it.")
_IDLE = "no sync has succeeded or failed since the start of kube-proxy"


def _proxy(evidence):
    return section(evidence, "node_kube_proxy")


def _observations(evidence, kind):
    return [row for row in rows_of(evidence, "node_iptables_chains", "observations") if row["kind"] == kind]


def missing_services(evidence):
    """Virtual servers and entries of ipsets that ipvs mode lacks. Only a part of the servers is lost where
    all that are missing are those of NodePorts."""
    found = section(evidence, "node_ipvs").get("service_sets") or {}
    servers, entries, examples = (found.get(key) for key in ("missing_servers", "missing_entries", "examples"))
    rows = []
    if servers:
        of_ports = bool(examples) and all(name.startswith("KUBE-") for name in examples)
        rows.append({"subject": "virtual servers", "missing": "%d virtual servers are missing" % servers,
                     "names": examples, "manual": _OF_NODE_PORTS if of_ports else None})
    if entries:
        rows.append({"subject": "ipsets", "names": examples, "manual": None, "missing":
                     "%d virtual servers are missing in the ipsets of kube-proxy%s" % (
                         entries, " (%s)" % found["because"] if found.get("because") else "")})
    return rows


def kube_proxy_mode(evidence):
    """The mode that kube-proxy runs in, otherwise the configured one."""
    return _proxy(evidence).get("effective_mode") or _proxy(evidence).get("mode")


def kube_proxy_sync(evidence):
    """The families that kube-proxy syncs; `failed`: a sync failed, `idle`: none succeeded or failed, `failures`: how
    many syncs failed, as a sentence, `unclear`: why it is not known whether a change waits."""
    found = _proxy(evidence).get("sync")
    return None if found is None else [_synced(row) for row in found]


def _synced(row):
    failures = [row.get("restore_failures"), row.get("nftables_failures")]
    unclear = None
    if row.get("waiting") is None:
        unclear = "the metrics do not have the time of the last request of a sync (last_queued_timestamp_seconds)"
    elif row["waiting"] and row.get("waiting_seconds") is None and not above(row.get("behind_seconds"), 300):
        unclear = "the metrics do not show what time it was, or the clock of the node was set back"
    return dict(row, subject="both families" if row.get("family") == "all" else row.get("family"), unclear=unclear,
                failed=any(above(number, 0) for number in failures), failures=_failures(*failures),
                idle=bool(row.get("never_synced")) and failures == [0, 0])


def _failures(restores, syncs):
    """Why a change waits, by the counters of failures."""
    if restores is None and syncs is None:
        return "its metrics count no failures"
    if not restores and not syncs:
        return "no sync failed since its start, so it waits or hangs"
    counted = ["%d %s%s" % (number, noun, "" if number == 1 else "s")
               for number, noun in ((restores, "restore"), (syncs, "nftables sync")) if number]
    return "%s failed since its start" % " and ".join(counted)


def kube_proxy_failed_start(evidence):
    """One row if kube-proxy tried to write its rules and never could, with what its image lacks."""
    never = [row for row in kube_proxy_sync(evidence) or [] if row.get("never_synced")]
    failed = [row for row in never if row["failed"] and row.get("waiting") is not None]
    if not failed:
        return []
    lacks = _proxy(evidence).get("lacks") or []
    missing = ["%s is missing: %s" % (row["name"], row["effect"]) for row in lacks]
    missing += ["%s is missing" % row["tool"] for row in section(evidence, "requirements").get("tools") or []
                if row["user"] == "kube-proxy" and row["state"] == "absent"]
    return [{
        "subject": " and ".join(str(row["family"]) for row in failed),
        "value": "%d restores and %d nftables syncs failed, and no sync succeeded" % tuple(
            sum(row.get(key) or 0 for row in never) for key in ("restore_failures", "nftables_failures")),
        "because": "; ".join(missing) or "its log names the reason",
        "manual": "Use an image of kube-proxy that contains %s, %s" % (
            ", ".join(str(row["name"]) for row in lacks), _IMAGE) if lacks else None}]


def kube_proxy_ports(evidence):
    """Why kube-proxy does not answer: `value` is the fault, `evidence` why a fault is not known, `rule` the rule that
    drops its answers."""
    proxy, collected = _proxy(evidence), _proxy(evidence).get("collected") or {}
    state, statuses = proxy.get("state"), {collected.get("metrics"), collected.get("healthz")}
    rows = []
    if state == "T":
        rows.append(_port("is stopped (state T)", "its process was stopped with SIGSTOP",
                          "Continue it with kill -CONT %s." % proxy.get("pid")))
    if statuses == {"timeout"} and state != "T":
        rows += _silent(evidence, proxy, state)
    if statuses == {"absent"}:
        rows += _closed(proxy, collected)
    return rows


def _port(value, reason, manual=None):
    return {"subject": "kube-proxy", "value": value, "reason": reason, "manual": manual}


def _silent(evidence, proxy, state):
    reason = "neither port answered within 1.5 s"
    if state == "t":
        return [_port("is stopped by a debugger (state t)", reason,
                      "Find the debugger with grep TracerPid /proc/%s/status and end it." % proxy.get("pid"))]
    drops = [row["text"] for row in _observations(evidence, "lost_match") if row["chain"] == "KUBE-FIREWALL"
             and row["family"] != "ipv6" and (row["text"] or "").endswith("-j DROP")]
    return [doubt("kube-proxy", "drops all packets that the node itself sends, those to the ports of kube-proxy too",
                  rule=text) for text in drops] or [
        _port("accepts connections and sends no answer", reason)]


def _closed(proxy, collected):
    embedded, off = proxy.get("runs_in") == "embedded", len(proxy.get("ports_off") or [])
    if off == 2:
        return [doubt("kube-proxy", "--metrics-bind-address and --healthz-bind-address switch both ports off, so "
                      "nothing shows whether it works; leave out one of them")]
    if embedded:
        return [doubt("kube-proxy", "k3s and MicroK8s may run without kube-proxy, which the options of the server "
                      "decide")]
    if collected.get("config") not in ("ok", "absent"):
        return [doubt("kube-proxy", "its configuration, which may name other ports, could not be read")]
    if proxy.get("starting"):
        return []
    return [_port("does not listen on its ports",
                  "from 1.34 on it does not listen before it has reached the API server once",
                  "Read its log for the API server that it cannot reach, and check its kubeconfig.")]


def kube_proxy_rules(evidence):
    """What the kernel holds of each table of kube-proxy; `held` differs from `want`, or `evidence` is why that is not
    known."""
    proxy, native = _proxy(evidence), kube_proxy_mode(evidence) == "nftables"
    rows = [] if native or proxy.get("rules_because") == "" else [
        doubt("the rules of kube-proxy", proxy.get("rules_because"))]
    rows += [_counted(row) for row in proxy.get("rules") or [] if row["state"] in ("fewer", "more", "unknown")]
    return rows + (_native_rules(evidence, proxy) if native else [])


def _counted(row):
    subject = "table %s of %s" % (row["table"], "both families" if row["family"] == "all" else row["family"])
    if row["state"] == "unknown":
        return doubt(subject, row["because"])
    return {"subject": subject, "manual": None,
            "held": "it holds %s rules of kube-proxy, must hold %s" % (row["in_kernel"], row["promised"]),
            "want": "%s rules, the number that kube-proxy reports" % row["promised"],
            "cause": "something flushed rules since the last sync" if row["state"] == "fewer"
            else "something restored an old dump of the rules since the last sync"}


def _native_rules(evidence, proxy):
    synced = any(row.get("never_synced") is False for row in proxy.get("sync") or [])
    broken = [row for row in rows_of(evidence, "node_iptables_chains", "observations")
              if row["table"] in _NATIVE_TABLES and row["kind"] in _BROKEN]
    first = [next((row for row in broken if row["table"] == table), None) for table in _NATIVE_TABLES]
    rows = [{"subject": "table %s" % row["table"],
             "held": "%s: %s" % (row["chain"], row["detail"]) if row["chain"] else row["detail"],
             "want": "all chains of kube-proxy, and a chain for each Service of its maps",
             "cause": "something deleted a part of it since the last sync",
             "manual": "Restart kube-proxy: kubectl -n kube-system delete pod, with its pod of this node. nftables "
                       "mode has no canary. Then find what deletes its tables: ansible NODE -b -m "
                       "kubenode.netfilter.node_facts -a gather_subset=flush_hooks"}
            for row in first if row and synced]
    rows += rules_unread(evidence)
    if not synced:
        rows.append(doubt("the rules of kube-proxy",
                          "kube-proxy has not synced since its start, or its metrics could not be read"))
    services = section(evidence, "node_iptables_chains").get("services")
    if not broken and not services:
        rows.append(doubt("the Services of this node",
                          "its tables could not be read, or they are not those of nftables mode" if services is None
                          else "neither family holds a Service, so its maps and chains show no difference"))
    return rows


def rules_unread(evidence):
    """What of the rules could not be read, or is still being written."""
    starting = section(evidence, "node_iptables_chains").get("starting")
    return [doubt(row["source"], row["evidence"]) for row in rows_of(evidence, "node_iptables_chains", "unread")] + (
        [doubt("the rules of kube-proxy", starting)] if starting else [])


def unrepaired_rules(evidence):
    """What of its rules kube-proxy does not restore (`because`), or why that is not known (`evidence`)."""
    sync = kube_proxy_sync(evidence) or []
    native = any(row.get("family") == "all" for row in sync)
    settled = any(row.get("never_synced") is False for row in sync) and (
        not native or above(_proxy(evidence).get("started_seconds_ago"), _SETTLED))
    rows = []
    for row in _observations(evidence, "unrepaired"):
        subject = "%s in the backend %s" % (row["family"], row["backend"])
        rows.append({"subject": subject, "because": row["detail"]} if settled else doubt(
            subject, "kube-proxy may not have synced both families since its start, or its metrics could not be read"))
    rows += [doubt(row["subject"], _IDLE) for row in sync if row["idle"]]
    for table, other in (("table ip kube-proxy", "ipv6"), ("table ip6 kube-proxy", "ipv4")):
        synced = any(row.get("family") != other and above(row.get("synced_seconds_ago"), _SYNCED) for row in sync)
        rows += [{"subject": row["family"], "because": row["detail"]} if synced else doubt(
            table, "kube-proxy synced within the last 60 s, or its metrics could not be read; look again in a minute")
            for row in _observations(evidence, "anchor_missing") if row["text"] == table]
    return rows


def kube_proxy_files_unread(evidence):
    """Files of the root of kube-proxy that its mode needs and that could not be read."""
    files = _proxy(evidence).get("files") or {}
    if kube_proxy_mode(evidence) == "nftables":
        return [doubt("/etc/protocols", "it could not be read")] if files.get("/etc/protocols") == "unknown" else []
    return [doubt("libraries of iptables", "not all of them could be read")
            ] if "unknown" in map(files.get, _LIBRARIES) else []


def kube_proxy_api(evidence):
    """The connections of kube-proxy to the API server, with what stops their packets and how to restore them."""
    sockets, server = _proxy(evidence).get("api_sockets"), _proxy(evidence).get("api_server") or {}
    if not sockets:
        return []
    stop = (server.get("blocked_by") or [{}])[0]
    if stop.get("undo"):
        manual = "%s %s, and remove it at its source (%s)." % (
            "Run" if stop.get("certain") else "If it is not meant to, run", stop["undo"],
            "a firewall script, a saved rule set, a network configuration")
    elif stop.get("place"):
        manual = "Remove it: %s." % stop["place"]
    else:
        manual = ("Test the connection from this node: curl -k https://%s/readyz. Where that works, look at the log of "
                  "kube-proxy and at its kubeconfig; where it fails, look at the API server, its load balancer and the "
                  "network between." % (server.get("addresses") or ["SERVER"])[0])
    return [dict(sockets, because=server.get("because") or "what stops its packets was not looked for",
                 manual=manual + " kube-proxy connects again within 90 s.")]


def kube_proxy_outage(evidence):
    """Why no kube-proxy runs, with `serving`: the kernel holds Services; `settled`: kubelet had the time to start it;
    `evidence` and `unjudged`: why that is no fault yet."""
    outage, ipvs = _proxy(evidence).get("outage"), section(evidence, "node_ipvs")
    if not outage:
        return []
    services, servers = section(evidence, "node_iptables_chains").get("services"), ipvs.get("virtual_servers")
    settled = above(section(evidence, "node_kubelet").get("started_seconds_ago"), _SETTLED)
    texts = {"unknown": "none runs; %s" % outage["because"],
             "short": "none runs, for at least %s s; it may be updated now, so look again in two minutes; %s"
             % (outage["seconds"], outage["because"])}
    unjudged = None
    if outage["state"] == "missing" and services is None and servers == 0:
        unjudged = "no kube-proxy runs, and its Services in the kernel could not be read"
    elif outage["state"] == "missing" and not settled:
        unjudged = "no kube-proxy runs, but kubelet has just started"
    dummy = (ipvs.get("dummy_interface") or {}).get("present")
    return [dict(outage, settled=settled, evidence=texts.get(outage["state"]), unjudged=unjudged,
                 serving=above(services, 0) or bool(dummy) and above(servers, 0))]


def kubelet_chains(evidence):
    """The first family of each version of IP whose chains kubelet did not set up, with the holder of the lock."""
    found = section(evidence, "node_kubelet").get("initialisation")
    if not found:
        return None
    lock = section(evidence, "node_xtables_lock").get("holder") or {}
    holder = " (now %s, pid %s)" % (lock.get("who") or "a process that could not be identified",
                                    lock["pid"]) if lock.get("pid") else ""
    first = [next((row for row in found["families"] if row["family"] == family
                   and row["state"] in ("failed", "unwatched")), None) for family in ("ipv4", "ipv6")]
    return [dict(row, subject="kubelet for %s" % row["family"], holder=holder,
                 quoted="; its log: %s" % row["log_line"] if row["log_line"] else "") for row in first if row]
