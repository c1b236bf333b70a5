# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""bundle.yml, really run on the controller: table, reports and the exit status of the gate."""

import gzip
import os
import tempfile

import bundles
import fleets
import pytest

SAVE = gzip.decompress((fleets.TOP / "tests/fixtures/forms/save.txt.gz").read_bytes()).decode()
JUMP = '-A PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES\n'


def run(tmp_path, *arguments):
    """(exit status, output, the report of the node) of one run, which leaves nothing in the folder for its files."""
    # ansible-core 2.21 opens a socket below TMPDIR, and the address of a socket has at most 108 bytes.
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        done = fleets.run_playbook(fleets.TOP / "playbooks" / "bundle.yml", "-e",
                                   "node_report_folder=%s" % (tmp_path / "report"), *arguments, cwd=tmp_path,
                                   TMPDIR=folder)
        assert not [name for name in os.listdir(folder) if name.startswith("kubenode-netfilter-")]
    return done.returncode, done.stdout, fleets.report_of(tmp_path)


def test_a_broken_node_closes_the_gate(tmp_path):
    bundle = bundles.archive(tmp_path / "n1.tar.gz", {"n1/iptables-save": SAVE.replace(JUMP, "")})
    status, output, report = run(tmp_path, "-e", "bundle=%s" % bundle, "-e", "node_policy_kubernetes_version=1.36")
    failing = {row["check"]: row for row in report["findings"] if row["status"] == "fail"}
    assert status != 0 and set(failing) == {"CHAIN001", "CHAIN032"} and "CHAIN001" in output
    assert all(failing["CHAIN001"][key] for key in ("severity", "reason", "remediation"))
    assert [row["check"] for row in report["findings"] if row["status"] == "unknown"] == ["BUNDLE001"]


def test_a_healthy_dump_opens_it(tmp_path):
    (tmp_path / "save.txt").write_text(SAVE)
    inventory = tmp_path / "inventory"
    inventory.write_text("localhost ansible_connection=ssh ansible_host=192.0.2.1 ansible_become=true\n")
    status, output, report = run(tmp_path, "-i", str(inventory), "-e", "bundle=%s" % (tmp_path / "save.txt"))
    assert status == 0, output
    assert report["summary"]["place"] == "bundle" and "BUNDLE001" in output


def test_dumps_of_two_moments_are_not_taken_for_one(tmp_path):
    bundle = bundles.archive(tmp_path / "n1.tar.gz",
                             {"n1/1-before": SAVE, "n1/2-after": SAVE.replace(JUMP, ""), "n1/3-the-same": SAVE})
    status, output, report = run(tmp_path, "-e", "bundle=%s" % bundle)
    unknown = {row["check"]: row for row in report["findings"] if row["status"] == "unknown"}
    assert status == 0, output
    reason = unknown["BUNDLE001"]["reason"]
    assert "2-after has table nat from another time" in reason and "3-the-same" not in reason
    assert not [row for row in report["findings"] if row["check"] == "CHAIN001" and row["status"] == "pass"]


@pytest.mark.parametrize("arguments, sentence", [
    ((), "no bundle is given; add -e bundle=PATH"),
    (("-e", "bundle=/no/such/bundle"), "bundle /no/such/bundle does not exist")])
def test_a_wrong_bundle_is_one_sentence(tmp_path, arguments, sentence):
    status, output, report = run(tmp_path, *arguments)
    assert status != 0 and sentence in output and "Traceback" not in output and not report
