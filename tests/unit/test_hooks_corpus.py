# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The corpus of hooks and look-alikes: every hook is found, and no look-alike is reported as a hook."""

import json
import re
import subprocess

import hook_corpus
import node_tree
import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._look.hooks.flush_hooks import (DIRECTORIES,
                                                                                                 collect_flush_hooks)
from ansible_collections.kubenode.netfilter.plugins.module_utils._look.tree import open_tree
from ansible_collections.kubenode.netfilter.plugins.module_utils._script.script import read_script

CASES = hook_corpus.load()


def look(case, folder):
    host, node = open_tree(node_tree.unpack(hook_corpus.tree_of(case), folder), "image")
    return collect_flush_hooks(host, node, **dict({"directories": DIRECTORIES}, **case.get("options", {})))


@pytest.mark.parametrize("case", [case for _file, case in CASES],
                         ids=["%s: %s" % (file, case["name"]) for file, case in CASES])
def test_nothing_is_missed_and_nothing_is_told_that_is_none(case, tmp_path):
    found = hook_corpus.differences(case, look(case, tmp_path))
    assert found == [], "\n".join(found)


@pytest.mark.parametrize("text", hook_corpus.one_liners("hooks"))
def test_one_line_is_enough(text):
    assert read_script(text).effects


@pytest.mark.parametrize("text", hook_corpus.one_liners("look_alikes"))
def test_one_line_is_harmless(text):
    assert read_script(text).effects == []


def test_the_corpus_is_as_big_as_promised():
    hooks = [hook for _file, case in CASES for hook in case.get("hooks", [])]
    silent = [case for file, case in CASES if file.startswith("look_alikes")]
    assert len([case for _file, case in CASES if case.get("hooks")]) >= 40 and len(hooks) >= 150
    assert len(silent) >= 40 and not any(case.get("hooks") for case in silent)
    assert len({case["name"] for _file, case in CASES}) == len(CASES)
    assert [case["name"] for _file, case in CASES for hook in case.get("hooks", [])
            if not hook_corpus.lines_of(case, hook)] == [], "every hook stands somewhere"


@pytest.mark.parametrize("case", [case for _file, case in CASES if re.match(r"#!.*\b(ba)?sh\b", str(case.get("run")))],
                         ids=lambda case: case["name"])
def test_the_scripts_of_the_corpus_are_scripts(case):
    shell = "bash" if "bash" in case["run"].split("\n")[0] else "sh"
    done = subprocess.run([shell, "-n"], input=case["run"].encode(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False)
    assert done.returncode == 0, done.stdout.decode()


SECRET = "hunter2-XyZZy-0815"
WITH_SECRETS = hook_corpus.one_liners("with_secrets")


def with_secrets():
    lines = "\n".join(each % SECRET for each in WITH_SECRETS)
    script = "#!/bin/bash\nexport DB_PASSWORD='%s'\n%s\n" % (SECRET, lines)
    one = [each % SECRET for each in WITH_SECRETS if "\n" not in each]
    unit = "[Service]\nEnvironment=TOKEN=%s\n" % SECRET + "".join(
        "ExecStop=/bin/bash -c \"%s\"\n" % each.replace("\\", "\\\\").replace('"', '\\"') for each in one)
    folder = "var/lib/cloud/instances/i-1/"
    program = "#!/usr/bin/python3\nimport os\nPASSWORD = '%s'\nos.system('login %s; iptables -F')\n" % (SECRET, SECRET)
    return {
        "usr/local/sbin/fw.py": program, "usr/local/sbin/fw": script,
        "etc/cron.d/fw": "TOKEN=%s\n" % SECRET + "".join("@reboot root %s\n" % each for each in one),
        "etc/systemd/system/fw.service": unit, "etc/systemd/system/fw.service.d/x.conf": unit, "etc/rc.local": script,
        "etc/cron.daily/fw": script, "etc/NetworkManager/dispatcher.d/fw": script, "etc/network/if-up.d/fw": script,
        "etc/init.d/fw": script, "etc/network/interfaces": "auto wlan0\niface wlan0 inet dhcp\n wpa-psk %s\n" % SECRET
        + "".join(" up %s\n" % each for each in one), "etc/logrotate.d/fw": "/x {\npostrotate\n%s\nendscript\n}\n"
        % lines, "etc/udev/rules.d/1.rules": "".join('RUN+="/bin/sh -c \'API_TOKEN=%s iptables -F\'", ENV{KEY}="%s"\n'
                                                     % (SECRET, SECRET) for _each in one),
        "etc/apt/apt.conf.d/1": "".join('DPkg::Post-Invoke { "%s"; };\n' % each.replace('"', "'") for each in one),
        "etc/dnf/plugins/post-transaction-actions.d/x.action": "".join("*:any:%s\n" % each for each in one),
        "etc/cloud/cloud.cfg": "password: %s\nbootcmd:\n%s\n" % (SECRET,
                                                                 "\n".join("  - |\n    " + each for each in one)),
        "var/lib/cloud/instance": {"link": "instances/i-1"}, folder + "user-data.txt": script,
        folder + "scripts/part-1": script, "etc/nftables.conf": "flush ruleset # %s\n" % SECRET,
        "etc/iptables/rules.v4": '*filter\n:KUBE-FORWARD - [0:0]\n-A INPUT -m comment --comment "password=%s" -j DROP\n'
                                 'COMMIT\n' % SECRET,
        "etc/systemd/system/nftables.service": "[Service]\nExecStart=/usr/sbin/nft -f /etc/nftables.conf\n"
                                               "ExecReload=/bin/x --token %s\n" % SECRET,
    }


def test_secrets_never_leave_the_node(tmp_path):
    section = look({"tree": with_secrets()}, tmp_path)
    sources = {row["path"] for row in section["hooks"]}
    assert len(sources) >= 15, sorted(sources)
    assert sorted({row["command"] for row in section["hooks"] if SECRET in json.dumps(row)}) == []
    assert SECRET not in json.dumps(section)
