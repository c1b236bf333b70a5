# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Joins about rules and what the site adds to them: hooks, firewalls, versions. PRIVATE to the collection.

Joins about kernel modules.
"""

from .values import doubt, rows_of, section

_RESTART = ("Restart kube-proxy: kubectl -n kube-system delete pod, with its pod of this node. nftables mode has no "
            "canary")
_NATIVE = {
    "anchor_missing": _RESTART + ", and from 1.33 on a quiet kube-proxy writes no lost table again. If it loses them "
    "at each start, its image lacks a file or a program: read its log.",
    "emptied_chain": _RESTART + "."}
_CANARY = "iptables -t mangle -X KUBE-PROXY-CANARY (ip6tables for IPv6)"
_REPAIR = {
    "anchor_missing": _CANARY, "emptied_chain": _CANARY, "forward_drop": "iptables -P FORWARD ACCEPT",
    "hostport_stale": "Find the number of the rule with iptables -t nat -L CNI-HOSTPORT-DNAT -n --line-numbers, and "
    "delete it with iptables -t nat -D CNI-HOSTPORT-DNAT NUMBER",
    "unexpected_drop": "find the number of the rule with iptables -t TABLE -L CHAIN -n --line-numbers, and delete it "
    "with iptables -t TABLE -D CHAIN NUMBER"}
_STALE_CHAIN = ("kubectl get pods -A -o wide shows which of the two addresses a pod still has. The chain that the rule "
                "leads to can then be deleted, too.")
_TUNNEL = ("Give the tunnel a mark without the bits 0x8000 and 0x4000, such as 0x1820: FwMark = 0x1820 in [Interface] "
           "of its file, then wg-quick down and up. Where no line of ip rule names the old mark, this is enough: wg "
           "set INTERFACE fwmark 0x1820. kubelet writes its rule again; from 1.28 on it has none.")
_RANGES = ("Give the program that writes this rule the range of the pods: kubelet with kubenet --non-masquerade-cidr, "
           "ip-masq-agent the list nonMasqueradeCIDRs in its ConfigMap in kube-system. Then restart it, and delete the "
           "old rule if it stays.")
_STALE = ("List the endpoints again, in case they changed meanwhile. Then read the log of the kube-proxy of this node: "
          "does it reach the API server, and do its syncs fail? Then restart it: kubectl -n kube-system delete pod, "
          "with its pod of this node.")
_NEVER_WRITTEN = (
    "kube-proxy has written no rules. Read its log (kubectl -n kube-system logs of its pod on this node, or "
    "journalctl): does it reach the API server, and does iptables-restore fail? curl -s "
    "http://127.0.0.1:10249/metrics | grep -e iptables_restore_failures -e last_queued shows whether its syncs fail. "
    "Check whether another process holds /run/xtables.lock. Then restart kube-proxy.")
# kube-router and others add a rule at each sync where `iptables -C` finds none.
_COPIES = (
    ("does not find its rule again",
     "The iptables in the image of the agent prints the rule in another form than it compares, or another version than "
     "that of the node: update the agent of the network plugin (kube-router, Calico, flannel, Weave). Then drain the "
     "node and reboot it, which removes the copies."),
    ("does not find existing rules",
     "Install iptables 1.8.3 or later (Debian 10: buster-backports at archive.debian.org), or set the alternatives to "
     "legacy on all nodes. Then drain the node and reboot it, which removes the copies."))
_IMAGES = (("has no JSON", "Use an image whose nft was built with JSON (libjansson), as current images of "
            "registry.k8s.io and of Calico are."),
           ("existing rules with -C", "Use an image of kube-router with iptables 1.8.11 or later. Then drain the node "
            "and reboot it: a new pod leaves the copies of the rules."))
# Network plugins that accept forwarded packets of pods before ufw drops them.
_ACCEPTING = ("antrea", "calico", "cilium", "flannel", "kube-router", "ovn", "weave")


def observations(evidence):
    """The faults of the rules with their own advice (`manual`), a `repair`, `by`: the command that sets a policy, and
    `source`: that a rule which drops is to be mended at its source, too."""
    found = section(evidence, "node_iptables_chains").get("observations")
    if found is None:
        return None
    hook = next((row for row in rows_of(evidence, "node_flush_hooks", "hooks")
                 if row["sort"] == "policy" and "FORWARD" in (row["chains"] or [])), None)
    by = "; a command that sets policies: %s line %s" % (hook["path"], hook["line"]) if hook else ""
    return [dict(row, manual=_advice(row), repair=row["repair"] or _REPAIR.get(row["kind"]),
                 by=by if row["kind"] == "forward_drop" else "", source=_source(row["repair"] or "")) for row in found]


def _source(repair):
    if " -I INPUT " in repair:
        return " Add that at its source too (a firewall script, a saved rule set)."
    if repair.startswith("restart "):
        return ""
    return " Delete it at its source too (a firewall script, a saved rule set)."


def _advice(row):
    if row["kind"] == "chains_missing":
        return _NEVER_WRITTEN
    if row["kind"] == "hostport_stale" and "no packet has" in (row["detail"] or ""):
        return ("Update the CNI plugins of the node (0.8.7 or newer writes no such address), or leave hostIP out, and "
                "delete the pod, which writes its rules anew.")
    if row["kind"] == "hostport_stale":
        return "%s. %s" % (row["repair"] or _REPAIR["hostport_stale"], _STALE_CHAIN)
    if row["kind"] == "mark_mismatch" and row["chain"] == "KUBE-FIREWALL":
        return _TUNNEL
    if row["kind"] == "masquerade_missing" and row["text"]:
        return _RANGES
    if row["kind"] == "unsound_endpoint" and "kubectl" in (row["detail"] or ""):
        return _STALE
    if row["kind"] == "duplicate_rule":
        return next((advice for words, advice in _COPIES if words in (row["detail"] or "")), None)
    return _NATIVE.get(row["kind"]) if (row["table"] or "").endswith(" kube-proxy") else None


def families_lacking(evidence):
    """The families of which a bundle with rules has none."""
    held = {row["family"] for row in rows_of(evidence, "node_iptables_chains", "rule_sets")}
    return [doubt("%s rules (%s)" % (name, command), "the bundle does not contain it") for family, name, command in (
        ("ipv4", "IPv4", "iptables-save"), ("ipv6", "IPv6", "ip6tables-save")) if held and family not in held]


def hook_files(evidence):
    """The files that flush, with `unsure`: why it is not known whether they do."""
    found = section(evidence, "node_flush_hooks").get("files")
    return None if found is None else [dict(row, unsure=_unsure(row)) for row in found]


def _unsure(row):
    if row["live"] is None:
        return ", and ".join(filter(None, (row["shown"], row["live_because"])))
    return "whether its commands flush anything is not known" if row["live"] and row["confidence"] == "possible" else ""


def hook_files_left_out(evidence):
    """One row if files that the evidence leaves out may flush, too: the last one that it holds does."""
    files = rows_of(evidence, "node_flush_hooks", "files")
    count = section(evidence, "node_flush_hooks").get("file_count") or 0
    last = files[-1] if files else {"live": None, "by_hand": False}
    return [doubt("other files", "%d files flush, and the evidence holds %d" % (count, len(files)))
            ] if count > len(files) and last["live"] is not False and not last["by_hand"] else []


def site_firewalls(evidence):
    """Whether ufw and firewalld drop forwarded packets of pods: `what` they do, or `evidence` why that is not known."""
    hooks, cni = section(evidence, "node_flush_hooks"), section(evidence, "requirements").get("cni") or "none"
    rows = []
    ufw = hooks.get("ufw") or {"live": False}
    if ufw["live"] is not False and ufw["enabled"] and not ufw["routes"] and ufw["forward_policy"] in (
            "DROP", "REJECT"):
        if ufw["live"] is None:
            rows.append(doubt("ufw", "DEFAULT_FORWARD_POLICY is %s (%s), and %s" % (
                ufw["forward_policy"], ufw["forward_by"], ufw["live_because"]), seen=True))
        elif cni not in _ACCEPTING:
            rows.append({
                "subject": "ufw", "cni": cni, "by": ufw["forward_by"],
                "what": "DEFAULT_FORWARD_POLICY=%s" % ufw["forward_policy"],
                "manual": "Run ufw route allow from POD_RANGE and ufw route allow to POD_RANGE, or set "
                "DEFAULT_FORWARD_POLICY=\"ACCEPT\" in /etc/default/ufw and run ufw reload."})
    firewalld = hooks.get("firewalld") or {"live": False}
    if firewalld["live"] is not False and firewalld["backend"] == "nftables" and cni != "cilium" and (
            "firewall" not in rows_of(evidence, "node_cni", "plugins")) and not firewalld["forward"]:
        if firewalld["live"] is None or firewalld["forward"] is None:
            rows.append(doubt(
                "firewalld", "whether a zone or a policy accepts packets of pods is not known (default zone: %s; %s); "
                "run firewall-cmd --get-active-zones: addresses of pods must be in a zone whose target is ACCEPT"
                % (firewalld["forward_by"] or "not read", firewalld["live_because"]), seen=True))
        else:
            rows.append({
                "subject": "firewalld", "cni": cni, "by": firewalld["forward_by"],
                "what": "its default zone forwards nothing between interfaces",
                "manual": "Run firewall-cmd --permanent --zone=trusted --add-source=POD_RANGE and firewall-cmd "
                "--reload, or disable firewalld: its reject counts even where a rule of iptables accepts."})
    return rows


def version_faults(evidence):
    """The builds of nft and iptables that break with what others write (`because`), or of which that is not known
    (`evidence`)."""
    backend, proxy = section(evidence, "node_iptables_backend"), section(evidence, "node_kube_proxy")
    owners = rows_of(evidence, "node_iptables_chains", "owners")
    no_calico = bool(owners) and all(row["owner"] != "calico" for row in owners)
    builds = backend.get("nft_containers") or []
    native = proxy.get("mode") == "nftables"
    unclear = proxy.get("running") and proxy.get("mode") is None
    calico = [row for row in builds if no_calico and (row["comm"] or "").startswith("calico-") and row["uses"] is False]
    proxies = [row for row in builds if row["comm"] == "kube-proxy"]
    node = dict(backend.get("nft") or {"breaks": False, "because": None}, namespace="the node", pod="nft")
    breaking = [row for row in builds if row["breaks"] and row["uses"]]
    breaking += [row for row in proxies if native and row["breaks"] and not row["uses"]]
    breaking += [row for row in calico if row["breaks"]]
    breaking += [dict(row, because=row["fault"]) for row in backend.get("containers") or [] if row["fault"]]
    breaking += [node] if node["breaks"] else []
    doubts = [row for row in builds if row["breaks"] is None and row["uses"] is not False]
    doubts += [row for row in builds if row["breaks"] and row["uses"] is None and row["comm"] != "kube-proxy"]
    doubts += [row for row in proxies if native and row["breaks"] is None and row["uses"] is False]
    doubts += [row for row in proxies if unclear and row["breaks"] is not False and not row["uses"]]
    doubts += [row for row in calico if row["breaks"] is None] + ([node] if node["breaks"] is None else [])
    return [{"subject": _build(row), "because": row["because"],
             "manual": next((advice for words, advice in _IMAGES if words in row["because"]), None)}
            for row in breaking if row["because"]] + [
        doubt(_build(row), row["because"]) for row in doubts if row["because"]]


def _build(row):
    return "%s/%s" % (row["namespace"] or "-", row["pod"] or row["comm"])


def agent_memory(evidence):
    """One row if it is not known whether the agent of the network plugin was killed recently."""
    agent = section(evidence, "node_cni").get("agent")
    if not agent or agent["oom_kills"] is not None and agent["oom_killed_recently"] is not None:
        return []
    if agent["oom_kills"] is None:
        return [doubt(agent["name"], "its cgroup could not be read, or does not count OOM kills")]
    return [doubt(agent["name"], "%s; run journalctl -k | grep -i oom-kill" % (
        "the kernel does not keep the time of its %d OOM kills" % agent["oom_kills"] if agent["oom_kills"] > 0
        else "its cgroup does not show OOM kills before the last start"))]


# Causes of an unknown state with which a directive tells that the name is a module, not a part of the kernel image.
_A_MODULE = ("file_unseen", "not_listed", "not_loaded")
_NAMES = 6
# {what switches loading on demand off: (in words, the advice)}
_OFF = {
    "modules_disabled": (
        "kernel.modules_disabled is 1", "List them in /etc/modules-load.d, so that they are loaded before "
        "kernel.modules_disabled is set, and reboot: nothing sets it back before."),
    "nomodule": ("the kernel was booted with nomodule", "Remove nomodule from the kernel command line and reboot."),
    "kernel_modprobe": (
        "kernel.modprobe (/proc/sys/kernel/modprobe) is empty", "Load them now (modprobe -a %s), and list them in "
        "/etc/modules-load.d: both work with an empty kernel.modprobe, which a hardening guide may want. Or "
        "remove what empties it (a line kernel.modprobe= of sysctl.d, or a program or privileged pod "
        "that writes it) and set it again (sysctl -w kernel.modprobe=/sbin/modprobe)."),
}
_OFF_SOMEHOW = ("kernel.modprobe is empty or kernel.modules_disabled is 1", _OFF["kernel_modprobe"][1])


def autoload_off(evidence):
    """One row where the kernel loads nothing on demand and required modules are still to be loaded so: `because`,
    `modules` and `advice`."""
    loading = section(evidence, "node_kernel_modules").get("loading") or {}
    left = [row["name"] for row in rows_of(evidence, "requirements", "modules") if not row["optional"]
            and row["on_demand"] and (row["state"] == "loadable" or row["cause"] == "not_loaded")]
    if loading.get("autoload") != "forbidden" or not left:
        return []
    by = {row["by"] for row in loading.get("because") or []}
    because, advice = next((_OFF[each] for each in _OFF if each in by), _OFF_SOMEHOW)
    shown = " ".join(left[:_NAMES])
    more = " and %d more" % (len(left) - _NAMES) if len(left) > _NAMES else ""
    return [{"because": because, "modules": ", ".join(left[:_NAMES]) + more,
             "advice": advice % shown if "%s" in advice else advice}]


def modules_unclear(evidence):
    """The required modules of which it is not known whether a directive keeps them from loading; with `evidence` and
    `seen` if there is one."""
    rows = []
    for row in rows_of(evidence, "requirements", "modules"):
        if row["optional"]:
            continue
        stops = [block for block in row["blocks"] or [] if block["effect"] == "blocks"]
        known = stops and (row["cause"] in _A_MODULE or any(
            block["by"] == "module_blacklist" for block in row["blocks"]))
        if row["state"] == "unknown" and row["cause"] == "no_tree" and any(
                block["by"] == "install" for block in stops):
            rows.append({"subject": row["subject"], "seen": True, "evidence": "%s keeps it from loading, unless it is "
                         "built in" % row["blocked_by"]})
        if row["state"] == "unknown" and not known or (
                row["state"] == "loadable" and row["blocked_unclear"] and not stops):
            rows.append(row)
    return rows
