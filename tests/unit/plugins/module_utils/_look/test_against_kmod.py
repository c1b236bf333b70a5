# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdicts against kmod's own plan: `modprobe -n -v` prints what it would load from a tree, and loads nothing."""

import os
import shutil
import subprocess

import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st
import node_tree
from case_rows import cases
from fake_modules import module_file
from node_manifests import DEBIAN, merged
from node_sections import collect_sections

RELEASE = "6.1.0-49-amd64"
TREE = "lib/modules/" + RELEASE
MODULES = {
    "base": {"exports": ["base_symbol"]}, "ip_vs_rr": {"wants": ["vs_symbol"]}, "with-hyphen": {}, "other": {},
    "ip_vs": {"wants": ["base_symbol"], "exports": ["vs_symbol"],
              "aliases": ["net-pf-16-proto-16-family-IPVS", "balance-*"]}}
NEEDS = {"ip_vs": ("base",), "ip_vs_rr": ("base", "ip_vs")}
CONF_DIRECTORIES = ("etc", "run", "usr/local/lib", "usr/lib")
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"}


def tool(name):
    return shutil.which(name, path=ENVIRONMENT["PATH"]) or name


@pytest.fixture(scope="module")
def indexed(tmp_path_factory):
    # busybox has programs of these names; its modprobe has no plan to compare with.
    said = subprocess.Popen([tool("modprobe"), "--version"], stdout=subprocess.PIPE, env=ENVIRONMENT).communicate()[0]
    assert said.startswith(b"kmod version"), "the package kmod is missing: make unit installs it"
    manifest = merged(DEBIAN, {"%s/kernel/net/%s.ko" % (TREE, name): module_file(name, **parts)
                               for name, parts in MODULES.items()})
    manifest[TREE + "/modules.builtin"] = "kernel/net/compiled_in.ko\n"
    manifest[TREE + "/modules.order"] = "".join("kernel/net/%s.ko\n" % name for name in MODULES)
    tree = node_tree.unpack(manifest, tmp_path_factory.mktemp("kmod"))
    process = subprocess.Popen([tool("depmod"), "-b", tree, RELEASE], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               env=ENVIRONMENT)
    assert process.wait() == 0, process.communicate()
    return tree


@pytest.fixture
def tree(indexed):
    clear(indexed)
    return indexed


def clear(tree):
    for folder in CONF_DIRECTORIES:
        shutil.rmtree(os.path.join(tree, folder, "modprobe.d"), ignore_errors=True)
        os.makedirs(os.path.join(tree, folder, "modprobe.d"))


def plan(tree, name, *options):
    """[file or command] that modprobe would load or run."""
    command = [tool("modprobe"), "-d", tree, "-S", RELEASE, "-n", "-v"] + list(options)
    for folder in CONF_DIRECTORIES:
        command += ["-C", os.path.join(tree, folder, "modprobe.d")]
    process = subprocess.Popen(command + ["--", name], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT)
    return process.communicate()[0].decode("utf-8", "replace").splitlines()


def loads(lines, module):
    """Whether a plan loads `module` and everything it needs; a command that takes the place of a soft dependency does
    not matter."""
    inserted = {line.split()[1].rsplit("/", 1)[-1] for line in lines if line.startswith("insmod")}
    return {"%s.ko" % name for name in NEEDS.get(module, ()) + (module,)} <= inserted


def row(tree, name):
    return collect_sections(["kernel_modules"], tree, "image", [name])["node_kernel_modules"]["modules"][0]


def written(tree, text):
    with open(tree + "/etc/modprobe.d/a.conf", "wb") as stream:
        stream.write(text.encode("utf-8"))


def agree(tree, name, module):
    """Both agree on loading by name, and on loading at boot, which honours blacklists (modprobe -b)."""
    found = row(tree, name)
    says = {way: way not in found["blocked_for"] + found["blocked_unclear"] and found["state"] == "loadable"
            for way in ("load", "boot")}
    assert says == {"load": loads(plan(tree, name), module), "boot": loads(plan(tree, name, "-b"), module)}, (
        found["blocks"], plan(tree, name), plan(tree, name, "-b"))


TEXTS = [
    "", "blacklist ip_vs", "blacklist ip-vs", "blacklist ip_v*", "blacklist base", "blacklist ip_vs\r",
    "blacklist ip_vs and more", "  blacklist ip_vs", "blacklist \\\nip_vs", "blacklist ip_\\\nvs",
    "# x \\\nblacklist ip_vs", "options other a=\\\\\nblacklist ip_vs", "blacklist\u00a0ip_vs", "blacklist\x0bip_vs",
    "blacklist ip_vs\0x", "\0blacklist ip_vs", "  # blacklist ip_vs", "blacklist", "install ip_vs /bin/true",
    "install ip-vs /bin/true", "install ip_vs /bin/false", "install ip_v* /bin/true", "install ?p_vs /bin/true",
    "install ip_vs /bin/tr\\ue", "install ip_vs", "install ip_vs ", "install base /bin/true", "install base /bin/false",
    "install ip_vs_rr /bin/true", "install other /bin/true", "alias ip_vs off", "alias ip_vs off # x",
    "alias ip_v* off", "alias ip_vs other", "alias ip_vs ip_vs", "alias ip_vs other\nalias ip_vs ip_vs",
    "alias base off", "alias ip_vs", "alias ip_vs null", "alias ip_vs nowhere",
    "softdep ip_vs pre: other\ninstall ip_vs /bin/true", "install ip_vs /bin/true\nsoftdep ip_vs post: other",
    "softdep ip_vs pre: nowhere\ninstall ip_vs /bin/true", "softdep ip_vs other\ninstall ip_vs /bin/true",
    "softdep ip_vs\ninstall ip_vs /bin/true", "softdep ip_v* pre: other\ninstall ip_vs /bin/true",
    "softdep ip_vs pre:\ninstall ip_vs /bin/true", "softdep base pre: other\ninstall base /bin/true",
    "options ip_vs conn_tab_bits=12", "remove ip_vs /bin/true", "include /etc/x", "nonsense",
]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("name", ["ip_vs", "ip_vs_rr"])
def test_one_file(tree, text, name):
    written(tree, text + "\n")
    agree(tree, name, name)


@cases
def test_names_and_aliases(tree, text, name, module):
    written(tree, text + "\n")
    agree(tree, name, module)


@cases
def test_precedence_and_masking(tree, files):
    node_tree.unpack(files, tree)
    agree(tree, "ip_vs", "ip_vs")


@cases
def test_what_the_kernel_asks_for_itself(tree, text):
    written(tree, text + "\n")
    assert ("autoload" not in row(tree, "ip_vs")["blocked_for"]) == loads(plan(tree, "net-pf-16-proto-16-family-IPVS",
                                                                               "-b"), "ip_vs")


def test_what_is_built_in(tree):
    assert plan(tree, "compiled_in") == [] and row(tree, "compiled_in")["state"] == "builtin"


LINES = st.sampled_from([
    "blacklist %s", "install %s /bin/true", "install %s /bin/false", "alias %s off", "alias %s other",
    "softdep %s pre: other", "options %s a=1", "# %s", "blacklist %s \\", "install %s \\", "%s", "\tblacklist\t%s",
    "blacklist %s\r", "alias lb %s"])
NAMES = st.sampled_from(["ip_vs", "ip-vs", "base", "ip_vs_rr", "ip_*", "b[a-z]se", "other"])


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow] + [
    check for check in HealthCheck if check.name == "function_scoped_fixture"])
@given(st.lists(st.tuples(LINES, NAMES), max_size=6))
@example([("install %s /bin/true", "other"), ("softdep %s pre: other", "ip_vs")])
@example([("install %s \\", "ip_vs"), ("blacklist %s", "ip_vs")])
def test_any_mixture_of_lines(indexed, lines):
    clear(indexed)
    written(indexed, "".join(form % name + "\n" for form, name in lines))
    for name in ("ip_vs", "ip_vs_rr"):
        agree(indexed, name, name)
