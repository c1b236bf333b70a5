# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Texts of a bundle as their programs printed them: pasted sessions in parts, logs with one line for each line, and
rules without the logs around them. PRIVATE to the collection.

Commands of a pasted session that ran in another network namespace than that of the node.

Sysctls of networks, addresses and rules belong to a network namespace. A pod has one of its own, unless it uses the
network of its node, as agents of networks do. Containers that are nodes themselves (kind, k3d, minikube) are nodes.

Samples:
    kubectl -n vpn exec -it wg-0 -- sysctl net.ipv4.ip_forward
    ip netns exec cni-0f5c1b iptables-save
    nsenter -t 4711 -n sysctl -a             with -t 1 or `pidof kube-proxy` it is that of the node
"""

import dataclasses
import json
import re
import textwrap

from ...module_utils._parse.logs.line import time_of, time_of_number, without_marks
from ...module_utils._parse.prompts import command_of, file_of, is_border, prompt_of
from . import kernel_values

# What belongs to a network namespace, by the kinds of file_kinds.
OF_NETWORK = ("sysctl", "values", "rules", "addresses", "some_addresses", "routes", "some_routes", "conntrack",
              "conntrack_count", "ipvs", "ipset", "applied", "ufw_status", "system")
_EXEC = re.compile(r"\b(?:kubectl|oc|kubecolor|k|crictl|ctr|(docker|podman|nerdctl))\b[^|;&]{0,200}?"
                   r"[ \t](?:exec|rsh)[ \t]+(.*)")
_NAMESPACE = re.compile(r"(?:^|[ \t])(?:-n[ \t=]?|--namespace[ \t=])\S+")
_INNER = re.compile(r"[ \t]--(?:[ \t]|\Z)|[|;]")
# Pods and containers with the network of their node.
_OF_NODE = re.compile(
    r"kube-(?:proxy|flannel|router|apiserver|controller|scheduler|vip|multus|ovn|egress)|calico-node|canal|cilium|"
    r"flannel|aws-node|weave|antrea|ovn|openvswitch|\bovs|\bsdn|local-?dns|kindnet|multus|azure-(?:cns|npm|cni)|"
    r"speaker|node-?exporter|\betcd|node-(?:debugger|shell)|nsenter|host-?net|privileged")
# Containers that are nodes.
_NODES = re.compile(r"\bkind\b|kind-|k3[sd]|k0s|rke2|minikube|microk8s|kubelet|control-?plane|"
                    r"(?:^|[-_ \t])(?:worker|server|agent|master|node)-?\d*(?=[ \t]|\Z)")
_ENTERS = re.compile(r"\bnsenter\b([^|;&]*)")
_TAKES_NETWORK = re.compile(r"(?:^|[ \t])(?:-[A-Zamuipr]*n\w*|--net\b|-a|--all)")
_FIRST = re.compile(r"(?:-t[ \t=]?|--target[ \t=])[\"']?1(?!\d)|/proc/1/ns|kube-?proxy|kubelet|calico|cilium|systemd")
_NETNS = re.compile(r"\bip[ \t]+(?:netns[ \t]+exec|(?:-\w{1,20}[ \t]{1,9}){0,8}(?:-n|-netns)[ \t])")
_SHELL = re.compile(r"(?:/\S*/)?(?:ba|da|a|k|z)?sh(?:[ \t]+-[il]+)?[ \t]*\Z")
# Rules that only the network of a node has.
_RULES_OF_NODE = re.compile(rb"\b(?:KUBE-(?:SERVICES|POSTROUTING|FORWARD|FIREWALL)|cali-(?:FORWARD|PREROUTING)|"
                            rb"FLANNEL-|CILIUM_|CNI-HOSTPORT)")


def is_elsewhere(command):
    """Whether a command runs in the network namespace of a pod or in another one that is not the node's."""
    entered = _ENTERS.search(command)
    if entered:
        return bool(_TAKES_NETWORK.search(entered.group(1))) and not _FIRST.search(entered.group(1))
    if _NETNS.search(command):
        return True
    found = _EXEC.search(command)
    if not found:
        return False
    name = _INNER.split(_NAMESPACE.sub(" ", found.group(2)), maxsplit=1)[0]
    return not _OF_NODE.search(name) and not (found.group(1) and _NODES.search(name))


def opens_shell(command):
    """Whether the prompts that follow are those of a shell in such a namespace."""
    return is_elsewhere(command) and _SHELL.search(command) is not None


def is_of_pod(command, kind, data):
    """Whether what a command prints, of this kind, is no evidence on the network of the node."""
    return kind in OF_NETWORK and is_elsewhere(command) and not (kind == "rules" and _RULES_OF_NODE.search(data))


# Larger texts are not split, and logs not converted.
_TEXT_LIMIT = 8 * 1024 * 1024
_HEAD, _PARTS_LIMIT, _DEPTH = 64 * 1024, 2000, 12
# Colours, frames of tables, entities of HTML and blanks of web pages.
_MARKS = (b"\x1b", b"[0m", b"&quot;", b"&lt;", b"&gt;", b"&#39;", b"&#34;", b"\xe2\x94", b"\xe2\x95", b"\xc2\xa0")
# A block that is indented as a whole, maybe below one line that is not.
_INDENTED = re.compile(rb"[ \t\n]|[#$][^\n]{0,200}\r?\n[ \t]+(?:#|\*|:|-A)")
_BOM = b"\xef\xbb\xbf"
# Files whose content is code or configuration, in which these marks may have a meaning.
_CODE = (".sh", ".py", ".conf", ".service", ".timer", ".socket", ".path", ".html", ".rules", ".key", ".pem")
# journalctl -o export and -o verbose (systemd, docs/JOURNAL_EXPORT_FORMATS.md, logs-show.c).
_EXPORT = re.compile(r"^__REALTIME_TIMESTAMP=\d", re.MULTILINE)
_VERBOSE = re.compile(r"^(?:[^\W\d]{2,9}\.? )?(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d{1,6})?) (\S{1,6}) \[s=",
                      re.MULTILINE)
_FIELD = re.compile(r"\s{0,12}(MESSAGE|SYSLOG_IDENTIFIER|_COMM|_PID|__REALTIME_TIMESTAMP)=(.*)")
# Exports of journals and log services as JSON: the keys of a message.
_JSON = re.compile(r"\s{0,9}[\[{]")
_JSON_KEYS = re.compile(r"\"(?:MESSAGE|message|textPayload|log|line|values)\"\s*:")
_MESSAGES = ("message", "textPayload", "log", "line", "msg", "note")
# What Ansible prints of a task: the command and the lines of its output.
_OF_TASK = re.compile(r"\"(?:stdout_lines|stdout)\"\s*:")
_TASK_START = re.compile(r"^(?:[^{\n]{0,300}=> )?(?=\{)", re.MULTILINE)
# So many braces that begin no JSON end the search.
_FAILED_LIMIT = 100
# What a command prints in place of a file, the end of what a command reads from the terminal, and a command that prints
# only some of the loaded modules.
_NO_FILE = re.compile(r"(?:cat|less|more|sudo|-?bash|sh): ")
_HEREDOC = re.compile(r"<<-? ?[\"']?(\w{1,40})")
_SOME_MODULES = re.compile(r"(?:sudo )?(?:\S{0,40}/)?lsmod ?\|")
_UNIT_PATH = re.compile(r"^# (/(?:etc|run|usr/lib|lib|usr/local/lib)/systemd/\S{1,200})$", re.MULTILINE)
_IS_ENABLED = re.compile(r"(?:sudo )?systemctl is-enabled ([\w@.:-]{1,100})\Z")
_HOST = re.compile(r"@[\w.-]+")
_BETWEEN = re.compile(r"[\s,\x1e]*")


def plain(item):
    """The item without what a terminal or a web page adds."""
    if not item.data or item.data.startswith(b"#!") or item.path.endswith(_CODE) or b"\0" in item.data[:_HEAD]:
        return item
    if item.data.startswith(_BOM):
        item = dataclasses.replace(item, data=item.data[len(_BOM):])
    if any(mark in item.data for mark in _MARKS):
        lines = [without_marks(line) for line in _text(item.data).split("\n")]
        item = dataclasses.replace(item, data=_bytes("\n".join(lines)))
    if b'"stdout' in item.data and len(item.data) <= _TEXT_LIMIT and _OF_TASK.search(_text(item.data)):
        item = dataclasses.replace(item, data=_bytes(_of_tasks(_text(item.data))))
    if len(item.data) <= _TEXT_LIMIT and _INDENTED.match(item.data):
        # A block of code of Markdown.
        item = dataclasses.replace(item, data=_bytes(_dedented(_text(item.data))))
    return item


def _dedented(text):
    """The text without the blanks that all its lines have, but for a heading or a prompt before them."""
    first, _end, rest = text.partition("\n")
    return textwrap.dedent(text) if first[:1] in " \t" or not first else first + "\n" + textwrap.dedent(rest)


def _of_tasks(text):
    """The text with the outputs of Ansible's results in place of their JSON, each behind its command."""
    found, at, failed = [], 0, 0
    for start in _TASK_START.finditer(text):
        if start.end() < at:
            continue
        try:
            value, end = json.JSONDecoder().raw_decode(text, start.end())
        except (ValueError, RecursionError):
            failed += 1
            if failed == _FAILED_LIMIT:
                break
            continue
        found += [text[at:start.start()]] + [line + "\n" for line in _outputs(value, 0)]
        at = end
    return "".join(found + [text[at:]])


def _outputs(value, depth):
    if not isinstance(value, dict) or depth > _DEPTH:
        return []
    command = value.get("cmd")
    command = " ".join(map(str, command)) if isinstance(command, list) else str(command or "")
    lines = value.get("stdout_lines")
    lines = lines if isinstance(lines, list) else str(value.get("stdout") or "").split("\n")
    lines = [str(line) for line in lines] + str(value.get("stderr") or "").split("\n")
    found = ["$ " + one_line for one_line in command.split("\n")[:1] if one_line] + lines
    for each in value.values():
        for row in each if isinstance(each, list) else [each]:
            found += _outputs(row, depth + 1)
    return found if any(found) else []


def parts(item):
    """[(command, its output as an item)] of a pasted session, between its prompts or fences; None for a text without
    them. The output of a command that shows one file has the path of that file. Before a command in a shell of a pod
    stands the command that opened this shell."""
    if item.path.endswith(_CODE) or len(item.data) > _TEXT_LIMIT or not any(
            map(is_border, _text(item.data[:_HEAD]).split("\n"))):
        return None
    found, inside = [("", [])], None
    for line in _text(item.data).replace("\r\n", "\n").split("\n"):
        if is_border(line):
            command, prompt = command_of(line), prompt_of(line)
            if inside and (prompt in ("", inside[0]) or command in ("exit", "logout")):
                inside = None
            elif inside:
                command = "%s %s" % (inside[1], command)
            elif opens_shell(command):
                inside = (prompt, command)
            found.append((command, []))
        else:
            found[-1][1].append(line)
    outputs = [row for command, lines in found for row in _of_units(command, _output(command, lines))]
    return [(command, dataclasses.replace(item, path="%s.%d%s" % (item.path, number, file_of(command)),
                                          data=_bytes(text + "\n")))
            for number, (command, text) in enumerate([row for row in outputs if row[1]][:_PARTS_LIMIT], 1)]


def is_of_one_node(item):
    """Whether all prompts of a session name the same host."""
    prompts = {prompt_of(line) for line in _text(item.data).split("\n") if is_border(line)} - {""}
    return len({(_HOST.findall(prompt) or [prompt])[0] for prompt in prompts}) <= 1


def _of_units(command, text):
    """The files that `systemctl cat` shows, each below its path, as if by `cat`; the state of a unit as `systemctl
    status` shows it; any other output as it is."""
    unit = _IS_ENABLED.match(command)
    if unit and text.strip() == "enabled":
        name = unit.group(1) if "." in unit.group(1) else unit.group(1) + ".service"
        return [("systemctl status " + name, "Loaded: loaded (/etc/systemd/system/%s; enabled)" % name)]
    shown = kernel_values.shown_values(command, text)
    if shown:
        return [("grep . FILES", shown)]
    parts = _UNIT_PATH.split(text)
    files = [("cat " + path, content.strip("\n")) for path, content in zip(parts[1::2], parts[2::2])]
    return files or [(command, text)]


def _output(command, lines):
    """What a command shows, without empty lines around it; an empty text for an error in place of a file, and for only
    some lines of a list."""
    end = _HEREDOC.search(command)
    if end:
        # The second prompt of bash.
        lines = [line[2:] if line.startswith("> ") else line for line in lines]
    text = textwrap.dedent("\n".join(lines)).strip("\n")
    if end:
        text = ("\n" + text + "\n").partition("\n%s\n" % end.group(1))[0].strip("\n")
    return "" if _SOME_MODULES.match(command) or file_of(command) and _NO_FILE.match(text) else text


def without_logs(data, begins):
    """A text with rules without the messages of logs in it, whose first lines `begins` finds. What a log prints is no
    rule of the node: it is the input of an iptables-restore, which may have failed, or a rule in an error. A message
    ends at a prompt or a fence."""
    lines, inside = [], False
    for line in _text(data).split("\n"):
        inside = not is_border(line) and (inside or begins(line))
        if not inside:
            lines.append(line)
    return _bytes("\n".join(lines))


def log_lines(item):
    """The item with one line for each line of an exported log; any other item as it is."""
    lines = _log_lines(item.data)
    return dataclasses.replace(item, data=_bytes("\n".join(lines + [""]))) if lines else item


def _log_lines(data):
    """The lines of an exported log, or an empty list for any other text."""
    head = _text(data[:_HEAD])
    if _VERBOSE.search(head):
        return list(_of_fields(_text(data[-_TEXT_LIMIT:]).split("\n"), False))
    if _EXPORT.search(head):
        return list(_of_fields(_text(data[-_TEXT_LIMIT:]).split("\n"), True))
    if len(data) <= _TEXT_LIMIT and _JSON.match(head) and _JSON_KEYS.search(head):
        return _of_json(_text(data))
    return []


def _of_fields(lines, is_export):
    """Lines in the form of journalctl -o short-iso; an entry begins with its time, and in an export after an empty
    line."""
    row = {}
    for line in lines + [""]:
        begun = None if is_export else _VERBOSE.match(line)
        if begun or not line.strip():
            if "MESSAGE" in row:
                name = "node %s[%s]: " % (row.get("SYSLOG_IDENTIFIER") or row.get("_COMM", "-"), row.get("_PID", "0"))
                yield ("%s %s" % (row["when"], name) if row.get("when") else "") + row["MESSAGE"]
            row = {}
        if begun:
            day, clock, zone = begun.groups()
            row["when"] = "%sT%s%s" % (day, clock, "Z" if zone == "UTC" else "")
        field = _FIELD.match(line)
        if field:
            row.setdefault(*field.groups())
            if is_export and field.group(1) == "__REALTIME_TIMESTAMP":
                row["when"] = time_of(field.group(2), 1000000)


def _of_json(text):
    """One line for each message in JSON values that may be printed over several lines; values that are printed one a
    line stay as they are."""
    if all(line.startswith("{") and line.rstrip().endswith("}") for line in text.strip().split("\n", 3)[:3]):
        return []
    decoder, at, found = json.JSONDecoder(), 0, []
    try:
        while True:
            at = _BETWEEN.match(text, at).end()
            if text[at:at + 1] not in ("{", "["):
                return found
            value, at = decoder.raw_decode(text, at)
            found += _messages(value, None, 0)
    except (ValueError, RecursionError):
        return found


def _messages(value, when, depth):
    """The lines of a value: entries of journalctl, CloudWatch, Cloud Logging and kubectl, and pairs of Loki."""
    if depth > _DEPTH:
        return []
    if isinstance(value, list):
        if len(value) == 2 and all(isinstance(each, str) for each in value) and value[0].isdigit():
            return [json.dumps({"message": value[1], "time": time_of_number(value[0])})]
        return [line for each in value for line in _messages(each, when, depth + 1)]
    if not isinstance(value, dict):
        return []
    when = next((value[key] if isinstance(value[key], str) else time_of_number(value[key])
                 for key in ("timestamp", "time", "ts", "lastTimestamp") if value.get(key)), when)
    own = {key: each for key, each in value.items() if not isinstance(each, (dict, list)) or key == "MESSAGE"}
    found = []
    if "MESSAGE" in own or any(isinstance(own.get(key), str) for key in _MESSAGES):
        own.update({} if "MESSAGE" in own else {"message": own.get("message") or own.pop("log", None), "time": when})
        found.append(json.dumps(own))
    return found + [line for each in value.values() if isinstance(each, (dict, list))
                    for line in _messages(each, when, depth + 1)]


def _text(data):
    return data.decode("utf-8", "surrogateescape")


def _bytes(text):
    return text.encode("utf-8", "surrogateescape")
