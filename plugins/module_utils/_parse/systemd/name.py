# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of systemd units. PRIVATE to the collection.

Samples: `iptables.service`, `getty@tty1.service` (an instance), `getty@.service` (its template),
`dev-disk-by\\x2duuid.device`. Grammar: systemd src/basic/unit-name.c unit_name_is_valid(), man systemd.unit.
"""

import functools
import re

TYPES = ("service", "socket", "target", "timer", "path", "mount", "automount", "swap", "slice", "scope", "device")

_NAME = re.compile(r"([A-Za-z0-9:_.\\-]+)(@[A-Za-z0-9:_.\\@-]*)?\.(%s)\Z" % "|".join(TYPES))
_LONGEST = 255


class UnitName:
    """`prefix`, `instance` (None for a plain name, empty for a template) and `kind` (the type) of a unit's name."""

    def __init__(self, prefix, instance, kind):
        self.prefix, self.instance, self.kind = prefix, instance, kind

    @property
    def template(self):
        """Name of the template of an instance, otherwise None."""
        return "%s@.%s" % (self.prefix, self.kind) if self.instance else None

    def with_instance(self, instance):
        return "%s@%s.%s" % (self.prefix, instance, self.kind)


@functools.lru_cache(maxsize=4096)
def parse_unit_name(name):
    """`UnitName`, or None if `name` is not the name of a unit."""
    found = _NAME.match(name) if len(name) <= _LONGEST else None
    if found is None:
        return None
    prefix, instance, kind = found.groups()
    return UnitName(prefix, None if instance is None else instance[1:], kind)


def filled_in(name, instance):
    """`name` with `instance` put in where it is a template."""
    parts = parse_unit_name(name)
    return parts.with_instance(instance) if instance and parts and parts.instance == "" else name


@functools.lru_cache(maxsize=4096)
def names_for_drop_ins(name):
    """Names whose `.d`, `.wants` and `.requires` directories apply to a unit, its own name first (man systemd.unit).

    For `foo-bar@x.service` these are the name itself, `foo-bar@.service`, `foo-.service`, `foo-@x.service`,
    `foo-@.service`: systemd src/shared/dropin.c unit_file_find_dirs(). Directories for a whole type (`service.d`) are
    not included.
    """
    parts = parse_unit_name(name)
    names = (name,)
    if parts.template:
        names += names_for_drop_ins(parts.template)
    # The next shorter prefix ends at a dash, and a prefix that ends in a dash is not its own shorter prefix.
    dash = (parts.prefix[:-1] if parts.prefix.endswith("-") else parts.prefix).rfind("-")
    if dash > 0:
        shorter = UnitName(parts.prefix[:dash + 1], parts.instance, parts.kind)
        shorter_name = (shorter.with_instance(parts.instance)
                        if parts.instance else "%s.%s" % (shorter.prefix, parts.kind))
        names += names_for_drop_ins(shorter_name)
    return names
