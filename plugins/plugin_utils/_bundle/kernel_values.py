# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of the kernel that a text shows with the paths of their files. PRIVATE to the collection.

Samples:
    /proc/sys/net/ipv4/ip_forward:1                      grep . FILES
    ==> /proc/sys/net/ipv4/ip_forward <==                head or tail of several files, the value in the next line
    * Applying /etc/sysctl.d/99-kubernetes.conf ...      sysctl --system, the lines of the file below it
    Loaded: loaded (/lib/systemd/system/ufw.service; enabled; preset: enabled)       systemctl status
    /boot/config-6.1.0-18-amd64:CONFIG_IP_VS=m           grep of several configurations
    /etc/sysctl.d/99-cis.conf:12:net.ipv4.ip_forward=0   grep -rn
"""

import re

_PATH = r"/(?:proc/sys|sys/class/net|sys/module)/[\w./@-]{1,200}"
_AFTER_PATH = re.compile(r"^(%s):([^\n]{0,200})$" % _PATH, re.MULTILINE)
_BELOW_PATH = re.compile(r"^==> (%s) <==\n([^\n]{0,200})$" % _PATH, re.MULTILINE)
_APPLYING = re.compile(r"^\* Applying (/\S{1,200}) \.\.\.$", re.MULTILINE)
# Kinds of running values (file_kinds.py), commands that ask other machines, commands that set a value.
_READINGS = ("sysctl", "values", "applied")
_OF_OTHERS = re.compile(r"\b(?:p?ssh|ansible|pdsh|clush)\b")
_SETS = re.compile(r"\bsysctl\b[^|;&]{0,200} (?:-\w*w\b|[\w./-]{1,100} ?=)")
# Links to the units that a boot starts.
WANTED = "/etc/systemd/system/multi-user.target.wants/"
_UFW_PATH = "/usr/lib/systemd/system/ufw.service"
_UFW_UNIT = ("[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/usr/lib/ufw/ufw-init start quiet\n"
             "ExecStop=/usr/lib/ufw/ufw-init stop\n")
_GREPPED = re.compile(r"^(/(?:etc|run|usr/lib|usr/local/lib|lib)/(?:sysctl\.conf|(?:sysctl|modprobe|modules-load)\.d/"
                      r"[\w.@-]{1,100})):(?:(\d{1,6})[:-])?(.*)$", re.MULTILINE)
_MOST_LINES = 5000
_FOLDERS = ("/etc/", "/run/", "/usr/lib/", "/usr/local/lib/", "/lib/")
_BARE = re.compile(r"(?:sudo )?(?:\S{0,40}/)?(cat|sysctl -n|conntrack -C)((?: (?:/(?:proc/sys|sys)/|net[./])"
                   r"[\w./{},-]{1,300})*)\Z")
_BRACES, _VALUE = re.compile(r"([^{}]*)\{([^{}]*)\}([^{}]*)\Z"), re.compile(r"-?[\w. \t-]{1,100}\Z")
_OPTION = re.compile(r"^(?:\S{1,200}:)?((?:# )?CONFIG_[A-Z0-9_]{1,80}(?:=\S.*| is not set))[ \t]*$", re.MULTILINE)

_ENABLED = re.compile(r"^[ \t]{0,20}Loaded: loaded \(/\S{1,200}/([\w@.:-]{1,100}\.service); enabled(?:;|\))"
                      r"|^UnitFileState=enabled$.{0,2000}?^Id=([\w@.:-]{1,100})$", re.MULTILINE | re.DOTALL)

_RELEASE = re.compile(r"config-(\d+\.\d+[\w.+-]*?)(?:\.txt)?\Z")
_HEADED = re.compile(r"^# Linux/\S+ (\d\S*) Kernel Configuration", re.MULTILINE)

_TUNED_PATH = "/usr/lib/systemd/system/tuned.service"
_PROFILE = re.compile(r"^Current active profile: (.*)$", re.MULTILINE)
_UFW = re.compile(r"^Status: active$.{0,300}?^Default: .{0,100}, (deny|reject|allow) \(routed\)",
                  re.MULTILINE | re.DOTALL)
_UFW_ROUTE = re.compile(r"^\S.*[ \t](?:ALLOW|LIMIT) FWD[ \t]", re.MULTILINE)


def ufw_settings(text):
    """{path: content} of the settings that `ufw status verbose` shows; a rule for routed packets may let pods pass."""
    found = _UFW.search(text)
    if not found:
        return {}
    policy = {"deny": "DROP", "reject": "REJECT", "allow": "ACCEPT"}[found.group(1)]
    rules = "-A ufw-user-forward -j ACCEPT\n" if _UFW_ROUTE.search(text) else ""
    return {"/etc/default/ufw": "DEFAULT_FORWARD_POLICY=\"%s\"\n" % policy, "/etc/ufw/ufw.conf": "ENABLED=yes\n",
            _UFW_PATH: _UFW_UNIT, WANTED + "ufw.service": _UFW_PATH,
            "/etc/ufw/user.rules": "*filter\n:ufw-user-forward - [0:0]\n%sCOMMIT\n" % rules}


def release_of(path, text):
    """The release of a kernel configuration, by the name of the file or its header; None where neither shows it."""
    found = _RELEASE.search(path) or _HEADED.search(text)
    return found and found.group(1)


def shown_values(command, text):
    """What a command prints without the names of what it read, with them: `cat` of files of the kernel, `sysctl -n`,
    `conntrack -C`; None for any other command."""
    found = _BARE.match(command)
    if not found:
        return None
    lines, words = text.split("\n"), [name for word in (found.group(2) or "").split() for name in _unfolded(word)]
    if command.endswith("conntrack -C"):
        words = ["/proc/sys/net/netfilter/nf_conntrack_count"]
    if found.group(1) == "cat" and len(words) == 1:
        return None  # The command names the file of what it prints.
    if len(lines) != len(words) or not all(map(_VALUE.match, lines)):
        return None
    paths = [word if word.startswith("/") else "/proc/sys/" + word.translate(str.maketrans("./", "/."))
             for word in words]
    return "\n".join("%s:%s" % pair for pair in zip(paths, lines))


def _unfolded(word):
    """A word with the list in its braces, as a shell expands it."""
    found = _BRACES.match(word)
    return [found.group(1) + part + found.group(3) for part in found.group(2).split(",")] if found else [word]


def units_at(path):
    """The paths that a unit may have."""
    name = path.rsplit("/", 1)[-1]
    return ["%s/systemd/system/%s" % (folder, name) for folder in ("/etc", "/run", "/usr/lib", "/lib")]


def enabled_units(text):
    """{link: target} of units that are enabled."""
    return {WANTED + unit: "/etc/systemd/system/" + unit for each in _ENABLED.findall(text) for unit in each if unit}


def tuned_profile(text):
    """{path: content} of what `tuned-adm active` shows; it answers only where tuned runs."""
    return {"/etc/tuned/active_profile": _PROFILE.search(text).group(1).strip() + "\n",
            _TUNED_PATH: "[Service]\nType=dbus\nExecStart=/usr/sbin/tuned -l -P\n",
            WANTED + "tuned.service": _TUNED_PATH}


def of_paths(text):
    """{path: value}; the first value of a file counts."""
    found = {}
    for path, value in _AFTER_PATH.findall(text) + _BELOW_PATH.findall(text):
        if "/../" not in path:
            found.setdefault(path, value.strip() + "\n")
    return found


def applied(text):
    """{path: content} of the files that `sysctl --system` read. procps 4 prints the names of all files first, and then
    no line shows its file."""
    parts = _APPLYING.split(text)
    pairs = list(zip(parts[1::2], parts[2::2]))
    if len(pairs) > 1 and not any("=" in content for _path, content in pairs[:-1]):
        return {}
    return {path: "".join(line.strip() + "\n" for line in content.splitlines() if " = " in line)
            for path, content in pairs if path.startswith(_FOLDERS) and ".." not in path}


def grepped(text):
    """{path: the lines that grep printed of it}, each at its number where grep printed that, too."""
    found = {}
    for path, number, line in _GREPPED.findall(text):
        lines = found.setdefault(path, [])
        lines += [""] * max(0, min(int(number or 0), _MOST_LINES) - 1 - len(lines)) + [line]
    return {path: "\n".join(lines + [""]) for path, lines in found.items() if ".." not in path}


def configuration(texts):
    """The options of a kernel in texts that hold some of them."""
    options = [option for text in texts for option in _OPTION.findall(text.replace("\r\n", "\n"))]
    return "\n".join(options + [""])


def latest_first(found, parts):
    """The readings of sysctls in a session from the last one on: of several values of a key the last one is that of the
    kernel. What a command printed that set a value stays behind those; another node may be asked by ssh."""
    commands = {id(part): command for command, part in parts}
    readings = [row for row in found if row[1] in _READINGS or (row[2] or "").startswith("/proc/sys/net/")]
    if len(readings) < 2 or any(_OF_OTHERS.search(commands[id(row[0])]) for row in readings):
        return found
    readings.sort(key=lambda row: (bool(_SETS.search(commands[id(row[0])])), -found.index(row)))
    return [row for row in found if row not in readings] + readings
