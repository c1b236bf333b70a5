# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Loading and persisting 20 modules on a real kernel over ssh, against a loop of community.general.modprobe."""

import contextlib
import json
import sys
import zipfile

from measure import CACHE, TOP, VENV, Ansible, CannotRun, Outcome, quiet, take_turns, workplace
from sshd import serving

sys.path.insert(0, str(TOP / "tests" / "testbed"))

import images
import vm

ROUNDS = 3
LIMIT = 12
NODE = "node612"
OURS = "kernel_modules"
LOOP = "loop of community.general.modprobe"
NAMES = (
    "br_netfilter ip_set ip_set_hash_ip ip_set_hash_ipport ip_vs ip_vs_rr ip_vs_sh ip_vs_wrr nf_conntrack nf_nat "
    "xt_MASQUERADE xt_addrtype xt_comment xt_conntrack xt_mark xt_multiport xt_nat xt_recent xt_set xt_statistic"
).split()
SMOKE_NAMES = ["nf_conntrack", "x_tables", "xt_comment"]
# modprobe -r also removes modules that no other module needs. It runs twice because the names are not sorted by
# dependency.
FORGET = (
    "rm -f /etc/modules-load.d/kubenode-netfilter.conf; for name in {names}; do rm -f /etc/modules-load.d/$name.conf; "
    "done; modprobe -qra {names}; modprobe -qra {names}; for name in {names}; do ! grep -q \"^$name \" /proc/modules "
    "|| echo $name is still loaded; done"
)
PROVE = (
    "for name in {names}; do grep -q \"^$name \" /proc/modules || echo $name is not loaded; "
    "grep -qrx $name /etc/modules-load.d || echo $name is not persisted; done"
)


def play(tasks):
    return json.dumps([{"name": "Load and persist", "hosts": "all", "gather_facts": False, "tasks": [tasks]}])


def ours(names, **options):
    return play({"name": "All at once", "kubenode.netfilter.kernel_modules": dict(options, name=names)})


def loop(names):
    return play({"name": "One after the other", "loop": names,
                 "community.general.modprobe": {"name": "{{ item }}", "state": "present", "persistent": "present"}})


def community_general():
    """A folder of collections that holds community.general, out of the PyPI package ansible for this ansible-core."""
    collections = CACHE / "community"
    if not collections.is_dir():
        CACHE.mkdir(parents=True, exist_ok=True)
        with workplace() as folder:
            quiet([VENV / "bin" / "python", "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder,
                   "ansible"])
            unpacked = CACHE / "community.part"
            quiet(["rm", "-rf", unpacked])
            with zipfile.ZipFile(str(next(folder.glob("ansible-*.whl")))) as wheel:
                wanted = [name for name in wheel.namelist()
                          if name.startswith("ansible_collections/community/general/")]
                wheel.extractall(str(unpacked), wanted)
        unpacked.rename(collections)
    return collections


@contextlib.contextmanager
def node():
    """A test node of this benchmark only, so the test nodes of the developer do not change."""
    vm.RUN = CACHE / "run"
    guest = vm.Node(NODE)
    try:
        vm.start([guest])
        yield guest
    except images.ImageError as error:
        raise CannotRun(str(error)) from None
    finally:
        guest.stop()


def expect_silence(guest, script, names):
    status, output = guest.ssh(script.format(names=" ".join(names)), timeout=120)
    if status != 0 or output.strip():
        raise CannotRun("%s: %s" % (guest.name, output.decode(errors="replace").strip() or "status %d" % status))


def against(folder, variables, plays, *arguments, collections=()):
    """(Ansible, {contender: what runs its play}) against the one host with these variables."""
    ansible = Ansible(folder, collections=collections)
    inventory = folder / "inventory.json"
    inventory.write_text(json.dumps({"all": {"hosts": {"node": variables}}}), encoding="utf-8")
    runs = {}
    for number, (name, text) in enumerate(plays.items()):
        path = folder / ("play%d.yml" % number)
        path.write_text(text, encoding="utf-8")
        runs[name] = lambda path=path: ansible.run("ansible-playbook", path, "--inventory", inventory, *arguments)
    return ansible, runs


def measure(smoke):
    return measure_alone() if smoke else compare()


def compare():
    with workplace() as folder, node() as guest:
        variables = dict(guest.inventory_vars())
        del variables["ansible_control_path"]
        ansible, runs = against(folder, variables, {OURS: ours(NAMES), LOOP: loop(NAMES)},
                                collections=[community_general()])

        def proved(run):
            run()
            expect_silence(guest, PROVE, NAMES)

        def forget():
            expect_silence(guest, FORGET, NAMES)

        try:
            # The first run opens the connection.
            forget()
            proved(runs[OURS])
            seconds = take_turns(runs, ROUNDS, before=forget)
            expect_silence(guest, PROVE, NAMES)
        finally:
            ansible.close_connections()
    what = "%d modules loaded and persisted over ssh on Debian's kernel %s (emulated), against %s" % (
        len(NAMES), images.NODES[NODE]["kernel"], LOOP)
    return Outcome("load_persist", what, OURS, LOOP, seconds, LIMIT, False, [])


def measure_alone():
    """The same play in check mode on this machine, which need not be able to load kernel modules."""
    with workplace() as folder, serving(folder) as variables:
        ansible, runs = against(folder, variables, {OURS: ours(SMOKE_NAMES, load=False)}, "--check")
        try:
            seconds = take_turns(runs, 1)
        finally:
            ansible.close_connections()
    what = "%d modules in check mode on this machine" % len(SMOKE_NAMES)
    notes = ["left out: the comparison with community.general.modprobe, which needs a virtual machine; make bench has "
             "it"]
    return Outcome("load_persist", what, OURS, LOOP, seconds, LIMIT, False, notes)
