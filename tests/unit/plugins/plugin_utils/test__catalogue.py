# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An invalid entry of the catalogue is refused."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.plugin_utils import _catalogue, _policy

ENTRY = {"id": "KMOD999", "title": "t", "severity": "low", "kind": "none_of", "select": "a", "needs": ["node_host"],
         "why": "w", "fix": {"role": None, "manual": "m", "safety": "s"}, "sources": ["x"]}
ROLE = dict(ENTRY["fix"], role="harden_conntrack", part="limit", **{"class": "safe"})


def test_an_entry():
    check = _catalogue.checks_of([("file", ENTRY)])["KMOD999"]
    assert check.section == "KMOD" and check.needs == ("node_host",)


@pytest.mark.parametrize(
    "change, words", [
        ({"id": "kmod1"}, "capital letters and three digits"),
        ({"severity": "critical"}, "severity is 'critical', but must be one of: info, low, medium, high"),
        ({"kind": "some_of"}, "the kind some_of is not known; did you mean one_of?"),
        ({"kind": "equals"}, "kind equals needs want"),
        ({"want": 3}, "kind none_of takes no want"),
        ({"select": "a["}, "select is not a valid JMESPath expression"),
        ({"aplies_when": "a"}, "the key aplies_when is not known; did you mean applies_when?"),
        ({"fix": {"role": None}}, "fix lacks manual, safety"),
        ({"fix": dict(ENTRY["fix"], clas="safe")}, "fix: the key clas is not known; did you mean class?"),
        ({"fix": dict(ROLE, **{"class": None})}, "fix lacks class"),
        ({"fix": dict(ENTRY["fix"], **{"class": "save"})}, "fix.class is 'save', but must be one of: "),
        ({"fix": dict(ROLE, part="")},
         "names the role harden_conntrack and must name its part, one of limit, lower_limit,"),
        ({"fix": dict(ENTRY["fix"], part="limits")}, "the part limits is not known; did you mean limit?"),
        ({"fix": dict(ROLE, part="hooks")},
         "the part hooks belongs to the role harden_flush_hooks, not to harden_conntrack"),
        ({"kind": "at_most", "want": "max_rulse"},
         "want names the policy value max_rulse, which does not exist; did you mean max_rules?; there is: "),
        ({"kind": "at_most", "want": "proxy_mode"}, "want is 'proxy_mode', but kind at_most compares with a number"),
        ({"kind": "each_at_most", "want": True}, "want is True, but kind each_at_most compares with a number"),
        ({"kind": "none_outside", "want": "here"}, "want is 'here', but kind none_outside compares with a list"),
        ({"needs": ["node_conntrak"]},
         "needs names node_conntrak, but no module returns a section node_conntrak; did you mean node_conntrack?"),
        ({"needs": ["node_conntrack.tabel"]},
         "needs names node_conntrack.tabel, but RETURN of node_conntrack documents no tabel; did you mean table?"),
        ({"opt_in": "read_log"}, "opt_in names the policy value read_log, which is not one of true or false; did you "
         "mean read_logs?"),
        ({"opt_in": "max_rules"}, "opt_in names the policy value max_rules, which is not one of true or false"),
        ({"kind": "log_causes", "want": 3, "observed": "{value}"}, "observed has the field {value}"),
        ({"needs": ["requirements.ranges"]},
         "needs names requirements.ranges, but no module returns a section requirements"),
        ({"select": "node_conntrack.sysctls[?late].{subject: key, line: now}", "observed": "{lien}"},
         "observed has the field {lien}, which no row of select has; did you mean {line}?; there is: {line}, "
         "{subject}"),
        ({"select": "node_conntrack.sysctls[?late]", "subject": "{key}", "observed": "{nowhere}"},
         "observed has the field {nowhere}"),
        ({"select": "node_cni.plugins", "reason": "{key}"},
         "reason has the field {key}, which no row of select has; there is: {subject}, {value}"),
        ({"select": "node_conntrack.sysctls[].{subject: key}", "observed": "{subject}", "expected": "{want}"},
         "expected has the field {want}"),
        ({"kind": "at_most", "want": 3, "subject": "{name}", "observed": "{value} of {want}"},
         "subject has the field {name}"),
        ({"select": "[{subject: 'a', n: node_host.memory_bytes}] | [?n]", "observed": "{n}",
          "fix": dict(ENTRY["fix"], manual="set {m}")}, "fix.manual has the field {m}"),
    ])
def test_refused(change, words):
    with pytest.raises(BadInput, match=re.escape(words)) as refused:
        _catalogue.checks_of([("file", dict(ENTRY, **change))])
    assert "\n" not in str(refused.value) and str(refused.value).startswith("file: ")


@pytest.mark.parametrize(
    "change", [
        {"select": "requirements.ranges.cluster_cidr.offenders", "observed": "{whatever}"},
        {"select": "node_xtables_lock.sample.*", "observed": "{whatever}"},
        {"select": "node_conntrack.sysctls[?late].merge(@, {subject: key, line: now})", "observed": "{line} {reason}"},
        {"select": "[node_conntrack.sysctls[].{subject: key, a: now}, node_conntrack.sysctls[].{subject: key, b: "
                   "now}][]", "observed": "{a} {b}"},
        {"select": "node_cni.plugins", "observed": "{value}"},
        {"kind": "at_most", "want": "max_rules", "subject": "rules", "observed": "{value} of {want}"},
        {"kind": "equals", "want": "a literal", "subject": "it", "observed": "{value}"},
        {"needs": ["requirements", "node_host", "node_flush_hooks.cron", "node_kube_proxy.config"]},
        {"select": "node_conntrack.sysctls[].{subject: key}", "observed": "awk '{print $1}' and ${HOME}"},
    ])
def test_what_nobody_can_know_is_let_pass(change):
    assert _catalogue.checks_of([("file", dict(ENTRY, **change))])


def test_a_check_of_a_user_is_refused_before_anything_connects(tmp_path):
    """A user adds a file to roles/node_policy of an installed collection and reads this message."""
    top = tmp_path / "ansible_collections" / "kubenode" / "netfilter"
    here = pathlib.Path(__file__).resolve().parents[4]
    for name in ("plugins", "roles", "meta"):
        shutil.copytree(str(here / name), str(top / name), ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(str(here / "galaxy.yml"), str(top))
    (top / "roles/node_policy/files/checks/ours.yml").write_text(
        json.dumps([dict(ENTRY, select="node_conntrack.sysctls[].{subject: key}", observed="{subjcet}")]),
        encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "ansible.cli.adhoc", "all", "-i", "gone.invalid,", "-m", "kubenode.netfilter.assess"],
        cwd=str(tmp_path), env=dict(os.environ, ANSIBLE_COLLECTIONS_PATH=str(tmp_path), ANSIBLE_NOCOLOR="1",
                                    HOME=str(tmp_path)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, universal_newlines=True, check=False)
    sentence = ("ours.yml: KMOD999: observed has the field {subjcet}, which no row of select has; did you mean "
                "{subject}?; there is: {subject}")
    assert (done.returncode and sentence in done.stdout and "Traceback" not in done.stdout
            and "UNREACHABLE" not in done.stdout), done.stdout


def test_an_id_is_there_once():
    with pytest.raises(BadInput, match="^file: the id %s exists twice$" % ENTRY["id"]):
        _catalogue.checks_of([("file", ENTRY), ("file", ENTRY)])


def test_a_missing_key():
    with pytest.raises(BadInput, match="lacks why"):
        _catalogue.checks_of([("file", {key: value for key, value in ENTRY.items() if key != "why"})])


def test_a_want_that_looks_like_a_policy_value_is_one():
    values = _policy.default_policy().values
    named = [check.want for check in _catalogue.catalogue().values()
             if isinstance(check.want, str) and "_" in check.want]
    assert [want for want in named if want not in values] == []
