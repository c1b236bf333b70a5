# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The settings of kubelet that concern netfilter.

A flag overrides the files in --config-dir, a later file overrides an earlier one, and these files override --config
(kubernetes cmd/kubelet/app/server.go). A program that contains kubelet does not show the flags of kubelet: its own
configuration is read instead."""

from ..._host.host import ABSENT, DENIED, OK, UNPARSED
from ..._parse.kube.component_config import (
    DEFAULTS, KUBELET_FIELDS, READ_ONLY_PORT_OF_FLAGS, flag_value, parse_kubelet_config)
from ..processes import option_of
from .embedded_arguments import k3s_options, microk8s_arguments

# kubelet reads only files with this ending.
DROP_IN_ENDING = ".conf"
DROP_INS_LIMIT, SHOWN_LIMIT = 50, 10
# The drop-in directory that k3s gives to kubelet since 1.32.
K3S_DROP_INS = "/var/lib/rancher/k3s/agent/etc/kubelet.conf.d"
_ALONE = "--make-iptables-util-chains"


def settings_of(host, process, distribution):
    """`{"status", "file", "directory", "drop_ins", "settings"}` of the process that is, or contains, the kubelet.
    Settings have the value None where a file that may set them could not be read."""
    arguments, status = _arguments(host, process, distribution)
    file, folder = option_of(arguments, "config"), option_of(arguments, "config-dir")
    if distribution == "k3s" and folder is None:
        folder = K3S_DROP_INS
    names, statuses, found = [], [status], {}
    sources = [_read(host, process, file)] if file else []
    if folder:
        listed, names = _drop_ins(host, process, folder)
        sources += [(listed, {})] + [_read(host, process, "%s/%s" % (folder.rstrip("/"), name)) for name in names]
    for read, values in sources:
        statuses.append(read)
        # A file that cannot be read may set any value again.
        found = dict(found, **values) if read == OK else {}
    found = dict(found if status in (None, OK) else {}, **_of_flags(arguments))
    wrong = next((word for word in statuses if word not in (None, OK)), None)
    if wrong is None:
        by_flags_alone = not file and distribution not in ("k3s", "microk8s")
        defaults = dict(DEFAULTS, read_only_port=READ_ONLY_PORT_OF_FLAGS) if by_flags_alone else DEFAULTS
        found = dict(defaults, **found)
    return {"status": wrong or (OK if any(statuses) else ABSENT), "file": file, "directory": folder,
            "drop_ins": names[:SHOWN_LIMIT], "settings": {name: found.get(name) for name in KUBELET_FIELDS}}


def _drop_ins(host, process, folder):
    """(status, [name]) of the files of --config-dir."""
    if process.contained is not False:
        return DENIED, []
    listed, names = host.list_dir(folder)
    names = [name for name in names if name.endswith(DROP_IN_ENDING)]
    if len(names) > DROP_INS_LIMIT:
        host.note(folder, "holds more than %d files" % DROP_INS_LIMIT)
        return UNPARSED, []
    # A missing folder stops kubelet, but k3s creates its own.
    return OK if listed == ABSENT and folder == K3S_DROP_INS else listed, names


def _arguments(host, process, distribution):
    """(arguments of kubelet, status of the file they come from or None)."""
    if process.name == "kubelet" or distribution not in ("k3s", "microk8s"):
        return process.arguments, None if process.status == OK else process.status
    if distribution == "microk8s":
        status, arguments = microk8s_arguments(host, "kubelet")
        return arguments, None if status == ABSENT else status
    status, options = k3s_options(host, ("kubelet-arg",))
    if status != OK:
        return [], None if status == ABSENT else status
    from ..._parse.kube.k3s_config import passed_on
    return passed_on(options.get("kubelet-arg", [])), OK


def _of_flags(arguments):
    # The value of a bool flag follows `=`; the flag alone means true, whatever comes next (pflag, NoOptDefVal).
    plain = [argument + "=true" if argument == _ALONE else argument for argument in arguments]
    texts = {name: option_of(plain, name.replace("_", "-")) for name in KUBELET_FIELDS}
    values = {name: flag_value(name, text) for name, text in texts.items() if text is not None}
    return {name: value for name, value in values.items() if value is not None}


def _read(host, process, path):
    """(status, values) of one file. A file in a container, and a relative path, cannot be read here."""
    if process.contained is not False or not path.startswith("/"):
        return DENIED, {}
    text = host.read_text(path)
    if not text.ok:
        return text.status, {}
    config = parse_kubelet_config(text.text)
    if config.problem:
        host.note(path, "could not be read: %s" % config.problem)
        return UNPARSED, {}
    return OK, config.fields
