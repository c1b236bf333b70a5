# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fleets really run, on Pythons of the controller's version and others: what each node is sent, and that each node is
judged."""

import json
import sys

import fleets

# What a node's Python is sent goes by here. As another version it finds a wrong magic number in the guard.
INTERPRETER = """\
#!/bin/sh
cat >"{folder}/sent.$$"
grep -c "MAGIC_NUMBER != " "{folder}/sent.$$" >>"{folder}/bytecode"
{edit} "{folder}/sent.$$" | {python} "$@"
"""
OTHER = "sed 's/MAGIC_NUMBER != /MAGIC_NUMBER == /'"


def run(folder, hosts, other=None):
    """(states of the hosts, {host: [whether each program that it was sent was bytecode]}) of an audit of so many
    `hosts`, one after the other, of which that with the number `other` has another Python."""
    names = ["good%02d" % number for number in range(hosts)]
    fleet = fleets.Fleet(folder, *names)
    path = folder / "hosts.json"
    inventory = json.loads(path.read_text(encoding="utf-8"))
    for number, name in enumerate(names):
        interpreter = folder / ("python-" + name)
        (folder / ("of-" + name)).mkdir()
        interpreter.write_text(INTERPRETER.format(folder=folder / ("of-" + name), python=sys.executable,
                                                  edit=OTHER if number == other else "cat"), encoding="utf-8")
        interpreter.chmod(0o755)
        inventory["all"]["children"]["workers"]["hosts"][name]["ansible_python_interpreter"] = str(interpreter)
    path.write_text(json.dumps(inventory), encoding="utf-8")
    done = fleet.run("audit", "--forks", "1", environment={"ANSIBLE_REMOTE_TMP": str(folder / "remote")})
    assert done.returncode == 0, done.stdout + done.stderr
    assert not (folder / "remote").exists(), "a module over standard input needs no folder on the node"
    sent = {name: [line != "0" for line in (folder / ("of-" + name) / "bytecode").read_text().split()]
            for name in names}
    return fleet.states(), sent


def test_many_nodes_get_bytecode_until_one_has_another_python(tmp_path):
    states, sent = run(tmp_path, hosts=10, other=2)
    assert set(states.values()) == {"assessed"} and len(states) == 10
    assert [sent["good%02d" % number] for number in range(10)] == [[True]] * 2 + [[True, False]] + [[False]] * 7


def test_few_nodes_get_sources(tmp_path):
    states, sent = run(tmp_path, hosts=2)
    assert set(states.values()) == {"assessed"} and list(sent.values()) == [[False]] * 2
