# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long 60 kernel modules take on the kernel of a generic distribution, compared with an Ansible module that does
nothing."""

import json

from measure import CACHE, NODE_PYTHON, Ansible, CannotRun, Outcome, need_packages, quiet, take_turns, workplace

ROUNDS = {False: 15, True: 1}
LIMIT = 1.5
NAMES = (
    "br_netfilter dummy fou ip6_tables ip6t_REJECT ip6t_rpfilter ip6table_filter ip6table_mangle ip6table_nat "
    "ip6table_raw ip_set ip_set_bitmap_port ip_set_hash_ip ip_set_hash_ipport ip_set_hash_ipportip "
    "ip_set_hash_ipportnet ip_set_hash_net ip_tables ip_vs ip_vs_lc ip_vs_rr ip_vs_sh ip_vs_wrr ipip ipt_REJECT "
    "ipt_rpfilter iptable_filter iptable_mangle iptable_nat iptable_raw nf_conntrack nf_conntrack_netlink nf_nat "
    "nf_tables nfnetlink_acct nft_chain_nat nft_compat nft_ct nft_fib_ipv4 nft_fib_ipv6 nft_masq nft_nat nft_numgen "
    "nft_reject overlay vxlan wireguard x_tables xt_CT xt_MASQUERADE xt_addrtype xt_comment xt_conntrack xt_mark "
    "xt_multiport xt_nat xt_recent xt_set xt_statistic xt_tcpudp"
).split()
EMPTY = """\
from ansible.module_utils.basic import AnsibleModule

AnsibleModule(argument_spec={}).exit_json()
"""
FACTS = "kernel_modules_facts"
FACTS_MODULE = "kubenode.netfilter.kernel_modules_facts"
EMPTY_MODULE = "kubenode_bench.empty.nothing"


def kernel_tree():
    """A system tree that holds only the full kernel package of this machine's Debian; fetched once."""
    need_packages("kmod")
    architecture = quiet(["dpkg", "--print-architecture"]).strip()
    depends = quiet(["apt-cache", "depends", "--important", "linux-image-" + architecture]).split()
    if "Depends:" not in depends:
        raise CannotRun("apt knows no package linux-image-%s; apt-get update may help" % architecture)
    package = depends[depends.index("Depends:") + 1]
    tree = CACHE / package
    if not tree.is_dir():
        CACHE.mkdir(parents=True, exist_ok=True)
        with workplace() as folder:
            quiet(["apt-get", "download", "-q", package], cwd=str(folder))
            unpacked = CACHE / (package + ".part")
            quiet(["rm", "-rf", unpacked])
            quiet(["dpkg-deb", "-x", next(folder.glob("*.deb")), unpacked])
        quiet(["depmod", "-b", unpacked, package[len("linux-image-"):]])
        (unpacked / "etc").mkdir()
        unpacked.rename(tree)
    return tree


def payload(ansible, module, arguments):
    """The file that Ansible sends to a node for a module with these arguments."""
    ansible.run("ansible", "localhost", "--inventory", "localhost,", "--connection", "local", "--module-name", module,
                "--args", json.dumps(arguments) if arguments else "", "--extra-vars",
                json.dumps({"ansible_python_interpreter": NODE_PYTHON}), ANSIBLE_KEEP_REMOTE_FILES="1")
    return next((ansible.folder / "remote").glob("*/AnsiballZ_%s.py" % module.rpartition(".")[2]))


def measure(smoke):
    tree = kernel_tree()
    with workplace() as folder:
        module = folder / "ansible_collections/kubenode_bench/empty/plugins/modules/nothing.py"
        module.parent.mkdir(parents=True)
        module.write_text(EMPTY, encoding="utf-8")
        ansible = Ansible(folder, collections=[folder])
        ours = payload(ansible, FACTS_MODULE, {"root": str(tree), "name": NAMES})
        empty = payload(ansible, EMPTY_MODULE, {})
        rows = json.loads(quiet([NODE_PYTHON, ours]))["ansible_facts"]["node_kernel_modules"]["modules"]
        states = {row["name"]: row["state"] for row in rows}
        if sorted(states) != sorted(NAMES) or set(states.values()) - {"loadable", "builtin"}:
            raise CannotRun("not every module was found in %s: %s" % (tree, states))
        quiet([NODE_PYTHON, empty])
        seconds = take_turns({FACTS: lambda: quiet([NODE_PYTHON, ours]),
                              "empty module": lambda: quiet([NODE_PYTHON, empty])}, ROUNDS[smoke])
    what = "%d modules resolved on %s, against a module that does nothing; the module's process alone" % (len(NAMES),
                                                                                                          tree.name)
    return Outcome("resolve", what, FACTS, "empty module", seconds, LIMIT, True, [])
