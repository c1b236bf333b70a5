# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook undo, really run on trees: what it would put back, what it puts back, and what others changed since."""

import fleets

CRON, OTHER = "etc/cron.d/firewall", "etc/cron.d/site"


def test_a_fix_is_listed_in_check_mode_and_put_back_in_a_run(tmp_path):
    fleet = fleets.Fleet(tmp_path, "bad1", "good1")
    cron = tmp_path / "bad1" / CRON
    fixed = fleet.run("preflight", preflight_fix="guarded", preflight_serial="100%")
    assert fixed.returncode == 0 and cron.read_text() != fleets.CRON, fixed.stdout + fixed.stderr
    listed = fleet.run("undo", "--check", "--diff")
    assert listed.returncode == 0 and "  bad1: would change: /%s" % CRON in listed.stdout, listed.stdout + listed.stderr
    assert "+0 3 * * * root iptables -t nat -F" in listed.stdout and cron.read_text() != fleets.CRON
    assert [fleets.recap(listed.stdout, host)["changed"] for host in ("bad1", "good1")] == [1, 0]
    done = fleet.run("undo")
    assert done.returncode == 0 and "  bad1: changed: /%s" % CRON in done.stdout, done.stdout + done.stderr
    assert cron.read_text() == fleets.CRON and not (tmp_path / "bad1/var/lib/kubenode-netfilter").exists()
    assert fleets.recap(fleet.run("undo").stdout, "bad1")["changed"] == 0


def test_what_others_changed_since_is_named_and_left_and_the_rest_is_put_back(tmp_path):
    fleet = fleets.Fleet(tmp_path, "bad1", "bad2")
    site = tmp_path / "bad1" / OTHER
    site.write_text("5 5 * * * root iptables -F\n")
    fleet.run("preflight", preflight_fix="guarded", preflight_serial="100%")
    edited = site.read_text() + "# mine\n"
    site.write_text(edited)
    done = fleet.run("undo")
    assert done.returncode == 2 and "/%s is not put back: it was changed since" % OTHER in done.stdout, done.stdout
    assert site.read_text() == edited and (tmp_path / "bad1" / CRON).read_text() == fleets.CRON
    assert (tmp_path / "bad2" / CRON).read_text() != fleets.CRON, "what is left ends the run before the next batch"


def test_subjects_narrow_it_and_a_wrong_one_is_refused_before_anything_is_touched(tmp_path):
    fleet = fleets.Fleet(tmp_path, "bad1")
    fleet.run("preflight", preflight_fix="guarded")
    neutral = (tmp_path / "bad1" / CRON).read_text()
    assert neutral != fleets.CRON
    others = fleet.run("undo", undo_subjects=["conntrack", "kernel_modules"])
    assert others.returncode == 0 and (tmp_path / "bad1" / CRON).read_text() == neutral, others.stdout
    for variables, words in (({"undo_subjects": ["flush_hook"]}, "undo_subjects[0] is 'flush_hook', but must be one"),
                             ({"undo_only": "conntrack"}, "undo_only is not known; known: undo_hosts, undo_subjects")):
        wrong = fleet.run("undo", **variables)
        assert wrong.returncode == 2 and words in wrong.stdout, wrong.stdout
    assert (tmp_path / "bad1" / CRON).read_text() == neutral
    nobody = fleet.run("undo", undo_hosts="wrokers")
    words = "undo_hosts: wrokers matches no host; did you mean workers?"
    assert words in " ".join(nobody.stderr.split()) and "TASK" not in nobody.stdout
