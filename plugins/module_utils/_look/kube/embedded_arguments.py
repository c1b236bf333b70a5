# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Arguments that k3s and MicroK8s give to the components inside of them, read from their configuration files."""

from ..._host.host import ABSENT, OK
from ..processes import status_of_notes

K3S_CONFIG = "/etc/rancher/k3s/config.yaml"
# Files with these endings in the drop-in directory are read after the configuration, in the order of their names (k3s
# pkg/configfilearg/parser.go).
K3S_DROP_INS, _ENDINGS, _DROP_INS_LIMIT = K3S_CONFIG + ".d", (".yaml", ".yml"), 50
MICROK8S_ARGUMENTS = "/var/snap/microk8s/current/args/%s"


def k3s_options(host, options):
    """(status, {option: [text]}) of the `options` in the configuration of k3s; None where a file of it cannot be read:
    k3s starts with all of them or not at all."""
    with host.noting() as notes:
        _listed, names = host.list_dir(K3S_DROP_INS)
        names = [name for name in names if name.lower().endswith(_ENDINGS)]
        if len(names) > _DROP_INS_LIMIT:
            host.note(K3S_DROP_INS, "holds more than %d files" % _DROP_INS_LIMIT)
        paths = [K3S_CONFIG] + ["%s/%s" % (K3S_DROP_INS, name) for name in names[:_DROP_INS_LIMIT]]
        texts = [(path, text) for path, text in ((path, host.read_text(path)) for path in paths) if text.ok]
        found = _together(host, texts, options) if texts else {}
    if notes:
        return status_of_notes(notes), None
    return OK if texts else ABSENT, found


def _together(host, texts, options):
    # The YAML parser is compiled only where there is some YAML.
    from ..._parse.kube.component_config import parse_k3s_config
    found = {}
    for path, text in texts:
        given, problem = parse_k3s_config(text.text, options)
        if problem:
            host.note(path, "could not be read: %s" % problem)
            continue
        for option, (values, adds) in given.items():
            found[option] = found.get(option, []) + values if adds else values
    return found


def microk8s_arguments(host, component):
    """(status, [argument]) of a component of MicroK8s."""
    text = host.read_text(MICROK8S_ARGUMENTS % component)
    return text.status, text.text.split()
