# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section node_cni: which network plugin this node uses, and which networks it is in. PRIVATE to the collection."""

import time

from ..._host.host import ABSENT, OK, UNPARSED
from ..cni.files import conf_files, file_rows, network_of, used_files
from ..cni.runtime import runtime_of
from .cluster_ranges import node_networks, service_ranges

PLUGINS_LIMIT = 16


def collect_cni(host, node):
    """The evidence dict."""
    runtime = runtime_of(host, node)
    status, files, left_out = conf_files(host, runtime.conf_dir)
    used = used_files(files, runtime)
    section = {
        "schema": 1, "collected": {"net_d": status, "conf_dir": status, "routes": ABSENT, "runtime": runtime.status,
                                   "processes": ABSENT, "sandboxes": ABSENT, "service_ranges": ABSENT},
        "file": None, "plugins": [], "name": None, "node_networks": [], "service_ranges": [],
        "service_ranges_source": None, "runtime": None, "files": [], "files_left_out": 0, "programs": [], "agent": None,
        "host_local": [], "mtu": None, "attached": None,
    }
    if node["place"] == "live":
        section["collected"]["routes"], section["node_networks"] = node_networks(host)
        found = service_ranges(host)
        section["collected"]["service_ranges"], section["service_ranges"], section["service_ranges_source"] = found
    # If the runtime uses none of the files, the first file is the reason.
    chosen = used or files[:1]
    if not chosen:
        if node["place"] == "live":
            from ..cni.attached import attached_pods
            pods, known, status = attached_pods(host, node, time.time())
            section["attached"] = len(pods) if known and status == OK else None
        return section
    from ..cni.programs import program_rows
    section.update(
        file=chosen[0].path, files=file_rows(files, used), files_left_out=left_out,
        runtime={"name": runtime.name, "source": runtime.source, "conf_dir": runtime.conf_dir,
                 "bin_dirs": runtime.bin_dirs[:4]},
        programs=[] if node["place"] == "bundle" else program_rows(host, node["place"], used, runtime.bin_dirs[:4]))
    if chosen[0].status != OK or not chosen[0].config.plugins:
        section["collected"]["net_d"] = chosen[0].status if chosen[0].status != OK else UNPARSED
    if chosen[0].config:
        section["plugins"] = [plugin[:64] for plugin in chosen[0].config.plugins[:PLUGINS_LIMIT]]
        section["name"] = network_of(chosen[0])
    if node["place"] == "live":
        from ..cni.agent import agent_of
        from ..cni.host_local import host_local_of
        from ..cni.mtu import mtu_of
        now = time.time()
        entries = chosen[0].config.entries if chosen[0].config else []
        # kindnetd configures ptp or bridge; the name in its file identifies it (kubernetes-sigs/kind images/kindnetd).
        kindnet = chosen[0].config and chosen[0].config.name == "kindnet"
        section["collected"]["processes"], section["agent"] = agent_of(
            host, node, "kindnet" if kindnet else section["name"], entries, now)
        section["collected"]["sandboxes"], section["host_local"] = host_local_of(host, files, used, runtime, now)
        section["mtu"] = mtu_of(host, files, used)
    return section
