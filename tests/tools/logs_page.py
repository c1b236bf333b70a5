# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/logs.md, made from the causes: an entry is a cause and its documentation."""

import pathlib

import yaml
from checks_page import cell, one_line

TOP = pathlib.Path(__file__).resolve().parents[2]
CAUSES = TOP / "roles" / "node_policy" / "files" / "log_causes"
PAGE = TOP / "docs" / "logs.md"

INTRODUCTION = """\
# Logs

Written by `make docs`; change the causes in `roles/node_policy/files/log_causes/` and the text in
`tests/tools/logs_page.py`.

`log_facts` searches the logs of a node and returns the causes of errors, each with the check that looks for it on the
node and the fix:

    ansible NODE -b -m kubenode.netfilter.log_facts

A log of a support bundle is judged on the controller alone; several files, rotated and compressed ones are possible:

    ansible localhost -m kubenode.netfilter.log_facts -a '{"src": ["/srv/bundle/kube-proxy.log"]}'

The filter `kubenode.netfilter.diagnose` does the same for a text or a list of lines that a play has already.

## Searched logs

The journal (the last 20,000 lines of kernel, kubelet, runtimes and distributions), the logs of kube-proxy and of
network plugins below `/var/log/pods`, and `/var/log/messages`, `syslog` and `kern.log`, with rotated and compressed
files. RKE2 and K3s write files for kubelet and containerd, Calico and AWS one for their plugin; these are read as well.
Where Docker writes the logs of containers into the journal (`--log-driver=journald`), each agent is a source of its
own, such as `journal:kube-proxy`. Logs of other pods are not read. The node returns only lines that may have a cause:
at most 200 lines and 32 KB, the newest first, without secrets.

## Pods that do not start

A message of kubelet or the runtime about the sandbox of a pod, such as `Failed to create sandbox for pod`, has the
error of the network plugin in it: the cause is found there, and `pods` names the pod. Where the plugin waited until
kubelet gave up, the message is a timeout. It is tied to a wait for the xtables lock that any log shows in the four
minutes before it (`tied_by: time`), if both times have a zone or none has.

## Checks

The checks [LOG001](checks.md#log001) to [LOG003](checks.md#log003) judge the last 15 minutes of these logs with the
causes below, together with all other checks. They are skipped unless the variable is set, because journalctl adds about
30 ms to the look at a node:

    ansible-playbook kubenode.netfilter.preflight --check -e node_policy_read_logs=true

Each cause is one finding: LOG001 has those of confidence `high`, LOG002 `middle`, and LOG003 `low`, which fails only
where no surer cause is found. An error counts if its last line is at most `node_policy_log_recent_seconds` old, 300 by
default. Of an error that repeats its line until it is mended, such as a failed sync, the line may be missing for at
most twice its interval. Normal lines are no findings, nor are lines without a time. Images are skipped. Of
pods only those in namespaces of the system are read, because a user who may create a pod can give its container any
name.

`bundle.yml` judges the logs of a [support bundle](bundles.md) with the same checks. Recent means close to the last line
of each log, because the time of the collection is not in it.

## What can go wrong

- A line shows that something happened, not that it lasts. `last` is the time of the newest one; the checks of `assess`
  look at the node itself.
- Some failures write no line: a hung iptables-restore, filter or nat flushed without mangle, and an API server that is
  gone with kube-proxy 1.36.
- At most 100 MB of 60 files are read, the newest files first and each from its end, until 200 lines are found. `cut` of
  a file is true where older lines were left out, and `files_left_out` counts older files; name such a file in `src`.
- klog and syslog write no year, and klog writes the time of the zone of its process.

## The causes

Confidence: `high` where the line names the object or the error, `middle` where a second proof is needed, `low` where
the line is an effect whose cause is nearby. `normal` lines are no finding.
"""


def render_cause(cause):
    versions = " to ".join(filter(None, [cause.get("since"), cause.get("until")]))
    versions = versions if cause.get("until") or not versions else versions + "+"
    versions = "to " + versions if cause.get("until") and not cause.get("since") else versions
    check = "[%s](checks.md#%s)" % (cause["check"], cause["check"].lower()) if cause.get("check") else ""
    return "| %s | %s | %s | %s | %s | %s |" % (
        cause["id"], cell(cause["meaning"]), "normal" if cause.get("normal") else cause["confidence"], versions, check,
        cell(cause["fix"]))


def render_page():
    lines = [INTRODUCTION]
    for path in sorted(CAUSES.glob("*.yml")):
        lines += ["### %s" % one_line(path.stem.replace("_", "-")), "",
                  "| cause | meaning | confidence | versions | check | fix |",
                  "| --- | --- | --- | --- | --- | --- |"]
        lines += [render_cause(cause) for cause in yaml.safe_load(path.read_text(encoding="utf-8"))] + [""]
    return "\n".join(lines).rstrip() + "\n"
