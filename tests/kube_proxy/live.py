# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Brings a node into one state of states.yml and looks at it. To be the first process of new namespaces, see run.py.

    live.py BINARY PLACE STATE [ARGUMENT OF KUBE-PROXY]...     writes a line of JSON for each look
"""

import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[1]
sys.path[:0] = [str(TOP / ".build"), str(TOP / "tests" / "fixtures"), str(TOP / "tests" / "checks")]

import judge
import yaml
from live_node import Node, NotDone
from steps import ACTIONS

SERVICES = 30


def main():
    binary, place, name, *arguments = sys.argv[1:]
    states = yaml.safe_load((HERE / "states.yml").read_text(encoding="utf-8"))
    state = next(state for state in states if state["state"] == name)
    node = Node(binary, place, state.get("services", SERVICES), arguments)
    try:
        node.prepare()
        for step in state["does"]:
            (what, value), = step.items()
            if what == "look":
                found = judge.judged(value.get("window", 0))
                print(json.dumps(dict(found, when=value["when"], healthz=node.healthz())), flush=True)
            else:
                ACTIONS[what](node, value)
    except NotDone as error:
        print(json.dumps({"not_done": str(error)}), flush=True)
    finally:
        node.end()


if __name__ == "__main__":
    main()
