# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The values of chosen options in a configuration file of k3s or RKE2. PRIVATE to the collection.

Sample:
    token: secret
    kubelet-arg+:
      - "port=10260"
The rest of the file is not kept: it holds the token of the cluster. Format: k3s pkg/configfilearg/parser.go, which
reads it with yaml.v2.
"""

from ..yaml.parse_yaml import LIST, MAP, NOTHING, SCALAR, parse_yaml, plain_value


def parse_k3s_config(text, options):
    """({option: ([text], whether they are added to the values of earlier files)} for the `options` that are present,
    None), or (None, the reason why the text cannot be read). Of several documents the first counts. A number or a
    boolean becomes the text that k3s makes of it."""
    documents = parse_yaml(text)
    root, problem = documents[0] if documents else (NOTHING, None)
    if problem or root.kind not in (MAP, SCALAR) or root.kind == SCALAR and root.value:
        return None, problem or "it is not a mapping"
    found = {}
    for key, value in root.value if root.kind == MAP else ():
        name = key[:-1] if key.endswith("+") else key
        if name not in options:
            continue
        entries = value.value if value.kind == LIST else [value]
        if any(entry.kind != SCALAR for entry in entries):
            return None, "line %d: %s holds values that are not text" % (value.line, name)
        texts = [_text(entry) for entry in entries if plain_value(entry, 0) not in (None, "")]
        before, added_before = found.get(name, ([], True)) if key != name else ([], False)
        found[name] = before + texts, added_before
    return found, None


def _text(entry):
    value = plain_value(entry, 0)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else entry.value


def passed_on(texts):
    """Arguments of a component, from values of an option such as `kubelet-arg`; without a value `true` (k3s
    GetArgs)."""
    return ["--" + text.lstrip("-") + ("" if "=" in text else "=true") for text in texts]
