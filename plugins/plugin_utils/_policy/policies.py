# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The policy a host is judged by: defaults of roles/node_policy, overlaid by the host's `node_policy_*`. PRIVATE to the
collection.

Every wrong variable is refused here with one sentence, before Ansible connects to a host.
"""

import contextlib
import dataclasses
import functools
import pathlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from ...module_utils import _names
from ...module_utils._errors import BadInput
from ...module_utils._parse.search_directories import checked_directories
from .. import _finding
from .._checks import catalogue, user_checks
from .._checks.expressions import compiled
from .._needs import cluster_ranges, conntrack
from .._options import checked, close_to, unknown_name
from .._plain import plain
from .._play import repository
from .._role_data import ROLES, defaults, options_of, profile, role_defaults
from . import limits, waiving
from .limits import PLAYBOOKS

PREFIX = "node_policy_"
# Facts the assess action sets; a persistent fact cache returns them as variables.
EXPORTED = ("node_assess_causes", "node_assess_cni_files", "node_assess_conntrack", "node_assess_digest",
            "node_assess_findings", "node_assess_hooks", "node_assess_modules", "node_assess_numbers",
            "node_assess_required_modules", "node_assess_summary", "node_assess_sysctls", "node_assess_user_checks")
# The tags of the playbooks with which nothing is changed.
PLAYBOOK_TAGS = frozenset(("assess", "node_assess", "report", "node_report", "gate", "node_gate"))
# Variables that limit the checks that run.
SELECTIONS = ("node_assess_checks", "node_assess_skip")
# How variable names of the collection begin; most other names begin differently.
_OURS = ("node", "harden", "preflight", "bake", "repair", "undo")
_BOUNDS = ("kubernetes_since", "kubernetes_before", "kernel_since", "kernel_before", "iptables_since",
           "iptables_before")
_VERSION = re.compile(r"^\d+(\.\d+)*\Z")


@dataclasses.dataclass(frozen=True)
class Policy:
    """`values` by name without the prefix; `requirements` are the rows of the matrix and the user's extra modules.

    `severities` maps the id of a check to its severity on this host, `disabled` to the reason why it is not judged.
    `checks` are the checks of the collection and of the user, by id. `idle_waivers` are for no host of the inventory.
    """

    values: dict
    waivers: tuple
    requirements: tuple
    severities: dict
    disabled: dict
    checks: Mapping
    idle_waivers: tuple = ()

    @property
    def module_names(self) -> list[str]:
        """Every module name in the matrix, sorted: the names that the node resolves."""
        names = set()
        for row in self.requirements:
            for module in row["modules"]:
                names.update(alternatives(module))
            names.update(row.get("looks_at") or [])
        return sorted(_names.normalise(name) for name in names)


def alternatives(module: dict) -> list[str]:
    """The names of a matrix entry, of which one is enough."""
    return module.get("any_of") or [module["name"]]


def role_settings(role: str, variables: Mapping, templated: Callable[[str, object], object],
                  known: "Mapping | None" = None) -> dict:
    """`{option without the name of the role: value}` of a host with `variables`; an option that it does not set has the
    default of the role. `known` are all checks of the host by id. Raises BadInput."""
    specs, given = options_of(role), role_defaults(role)
    given = dict(given, **{name: variables[name] for name in specs if variables.get(name) is not None})
    return {name[len(role) + 1:]: _checked_value(name, templated(name, value), specs[name], known)
            for name, value in given.items()}


def read_all() -> None:
    """Reads all data that judging and fixing a host without variables needs, so that workers forked later share it.
    Raises BadInput, OSError."""
    default_policy()
    check_role_variables({})
    for role in tunable_roles():
        role_defaults(role)


@functools.lru_cache(maxsize=1)
def tunable_roles() -> list[str]:
    """The roles with options of their own, without node_policy, whose names are all checked."""
    return sorted(path.name for path in ROLES.iterdir() if path.is_dir() and path.name != "node_policy")


def policy_of(overrides: dict, folders: Sequence[pathlib.Path] = ()) -> Policy:
    """The policy for `overrides`, the host's `node_policy_*` variables as plain values; paths of files with checks are
    relative to one of `folders`. Raises BadInput."""
    return _build(overrides, folders) if overrides else default_policy()


@functools.lru_cache(maxsize=1)
def default_policy() -> Policy:
    """The policy of a host that sets nothing; built once in a process."""
    return _build({}, ())


def _build(overrides, folders):
    spec = options_of("node_policy")
    for name in sorted(overrides):
        if name not in spec:
            raise unknown_name("The policy variable", name, spec)
    # A variable without a value (name:) means the default, as everywhere in Ansible where a default applies.
    given = {name: value for name, value in overrides.items() if value is not None}
    values = dict(_default_values(), **_checked_values(_with_profile(given, spec), spec))
    checked_directories(values["hook_directories"], "node_policy_hook_directories")
    conntrack.check_policy(values)
    cluster_ranges.check_policy(values)
    checks = user_checks.with_checks_of(values["check_files"], folders)
    requirements = list(values["module_requirements"])
    for index, row in enumerate(requirements):
        _check_requirement("node_policy_module_requirements[%d]" % index, row)
    extra = [_extra(index, item) for index, item in enumerate(values["extra_modules"])]
    if extra:
        requirements.append({"consumer": "node_policy_extra_modules", "modules": extra,
                             "source": "node_policy_extra_modules"})
    for name in ("kubernetes_version", "iptables_version"):
        if values[name] != "auto" and not _VERSION.match(values[name]):
            raise BadInput("%s%s is %r, but must be auto or a version such as \"1.31\"" % (PREFIX, name, values[name]))
    if values["ip_families"] != "auto":
        values["ip_families"] = _families(values["ip_families"])
    for kind in ("tool_requirements", "mode_advice", "mode_requirements"):
        for index, row in enumerate(values[kind]):
            _check_bounds("%s%s[%d]" % (PREFIX, kind, index), row)
    waivers = waiving.parse_waivers(values["waivers"], checks)
    policy = Policy(values, tuple(waivers), tuple(requirements), _severities(values["severities"], checks),
                    _disabled(values["disabled_checks"], checks), checks)
    if len(policy.module_names) > _names.NAMES_LIMIT:
        raise BadInput("node_policy_module_requirements and node_policy_extra_modules name %d kernel modules, but at "
                       "most %d can be read from a node" % (
                           len(policy.module_names), _names.NAMES_LIMIT))
    return policy


@functools.lru_cache(maxsize=1)
def _default_values():
    """The values of a policy that nothing overrides."""
    return _checked_values(defaults(), options_of("node_policy"))


def _checked_values(variables, spec):
    return {name[len(PREFIX):]: _checked_value(name, value, spec[name]) for name, value in variables.items()}


def _with_profile(given, spec):
    """The variables of the host laid over those of its profile."""
    name = PREFIX + "profile"
    chosen = profile(_checked_value(name, given.get(name, defaults()[name]), spec[name]))
    joined = {}
    for name in set(_JOINED) & set(chosen) & set(given):
        mine = _checked_value(name, given[name], spec[name])
        joined[name] = _JOINED[name](chosen[name], mine)
    return dict(chosen, **dict(given, **joined))


def _joined_rows(rows, mine):
    """The disabled checks of both; the reason of the host overrides the reason of the profile."""
    return [row for row in rows if row["check"] not in {each["check"] for each in mine}] + mine


# A variable that a profile and a host both set is joined: the host sets single checks, not the whole list.
_JOINED = {"node_policy_severities": lambda severities, mine: dict(severities, **mine),
           "node_policy_disabled_checks": _joined_rows}


def _checked_value(name, value, spec, known=None):
    """The value in the type that the argument_specs state. Refuses a value that is not valid."""
    value = checked(name, value, spec)
    limits.refuse_wrong_value(name, value, known=known)
    return value


def _severities(given, checks):
    for check_id, severity in given.items():
        _refuse_unknown_id("node_policy_severities", check_id, checks)
        checked("node_policy_severities.%s" % check_id, severity,
                {"type": "str", "required": True, "choices": _finding.SEVERITIES})
    return given


def _disabled(rows, checks):
    for index, row in enumerate(rows):
        _refuse_unknown_id("node_policy_disabled_checks[%d]" % index, row["check"], checks)
    return {row["check"]: row["reason"] for row in rows}


def _refuse_unknown_id(where, check_id, checks):
    if check_id not in checks:
        raise unknown_name("%s: the check" % where, check_id, checks)


def _families(value):
    if not isinstance(value, list) or not value or any(family not in ("ipv4", "ipv6") for family in value):
        raise BadInput("node_policy_ip_families is %r, but must be auto or a list of ipv4 and ipv6" % (value,))
    return value


def _check_requirement(where, row):
    _check_bounds(where, row)
    for index, module in enumerate(row["modules"]):
        _check_module("%s.modules[%d]" % (where, index), module)
    for name in row.get("looks_at") or []:
        _check_name("%s.looks_at" % where, name)


def _check_module(where, module):
    if bool(module.get("name")) == bool(module.get("any_of")):
        raise BadInput("%s needs either name or any_of" % where)
    for name in alternatives(module):
        _check_name(where, name)
    if module.get("requires_if") is not None:
        compiled(module["requires_if"], "%s.requires_if" % where)


def _check_name(where, name):
    if not _names.is_name(name):
        raise BadInput("%s: %r is not a kernel module name; give a name such as nf_conntrack, without path and blanks"
                       % (where, name))


def _check_bounds(where, row):
    for bound in _BOUNDS:
        if row.get(bound) is not None and not _VERSION.match(row[bound]):
            raise BadInput("%s.%s is %r, but must be a version such as \"1.31\"" % (where, bound, row[bound]))


def _extra(index, item):
    where = "node_policy_extra_modules[%d]" % index
    if not isinstance(item, dict):
        item = {"name": checked(where, item, {"type": "str"})}
        _check_name(where, item["name"] or "")
    row = checked(where, item, {"type": "dict", "options": module_options()})
    _check_module(where, row)
    return dict({"reason": "node_policy_extra_modules names it", "on_demand": False}, **row)


def module_options() -> dict[str, dict]:
    """How one module of a requirement is written."""
    return options_of("node_policy")["node_policy_module_requirements"]["options"]["modules"]["options"]


def refuse_wrong_variables(variables: Mapping, templated: Callable[[str, object], object]) -> Policy:
    """The policy of the host with `variables`; refuses every wrong variable of the collection, those of roles that run
    later too.

    `templated(name, value)` returns the plain value of a variable, or raises BadInput where it cannot be templated.
    Raises BadInput.
    """
    policy, others, strange, ours = {}, {}, [], prefixes()
    for name in variables:
        if not isinstance(name, str) or not name.startswith(ours):
            strange.append(str(name))
        elif name.startswith(PREFIX):
            policy[plain(name)] = templated(name, variables[name])
        elif name not in EXPORTED:
            # A value made from results of later tasks is not known here; its role validates it then.
            with contextlib.suppress(BadInput):
                others[plain(name)] = templated(name, variables[name])
    built = policy_of(policy, repository.folders_of(plain(variables.get("ansible_inventory_sources"))))
    check_role_variables(others, built.checks)
    check_strangers(strange)
    if not built.waivers:
        return built
    groups, host = variables.get("groups") or {}, plain(variables.get("inventory_hostname") or "")
    waiving.refuse_groups(built.waivers, groups)
    return dataclasses.replace(built, waivers=waiving.of_host(built.waivers, host), idle_waivers=waiving.without_host(
        built.waivers, host, groups.get("all") or []))


def check_role_variables(variables: dict, known: "Mapping | None" = None) -> None:
    """Checks the variables of roles that a host has; `known` are all its checks by id. Raises BadInput.

    A name that only looks like a variable of a role may belong to other code, so it is refused only if it is very close
    to a known name.
    """
    for role in tunable_roles():
        values = _checked_prefixed(role + "_", options_of(role), variables, known)
        selections = [values.get(name) for name in SELECTIONS]
        if any(selections):
            catalogue.refuse_no_check(" and ".join(SELECTIONS),
                                      catalogue.chosen_checks(None, *selections, known=known))


def _checked_prefixed(prefix, options, variables, known=None):
    """`{name: value}` of the variables in `options`."""
    values = {}
    for name in sorted(variables):
        if not name.startswith(prefix) or name in EXPORTED:
            continue
        if name in options:
            values[name] = _checked_value(name, variables[name], options[name], known)
        elif close_to(name, options, cutoff=0.88):
            raise unknown_name("The variable", name, options)
    return values


def check_strangers(names: Iterable[str]) -> None:
    """Refuses a name that begins almost like the collection's own names and is very close to one of them.

    `node_asses_root` would be ignored silently, and a playbook that was meant for an image would change the build host.
    Raises BadInput.
    """
    strange = [name for name in names if name.startswith(_OURS) and name not in EXPORTED]
    for name in sorted(strange):
        if close_to(name, known_names(), cutoff=0.92):
            raise unknown_name("The variable", name, known_names())


@functools.lru_cache(maxsize=1)
def known_names() -> list[str]:
    """All variables that the collection takes."""
    names = [name for options in PLAYBOOKS.values() for name in options] + list(options_of("node_policy"))
    return names + [name for role in tunable_roles() for name in options_of(role)]


def prefixes() -> tuple[str, ...]:
    """The beginnings of all variable names the collection owns."""
    return (PREFIX,) + tuple(PLAYBOOKS) + tuple(role + "_" for role in tunable_roles())
