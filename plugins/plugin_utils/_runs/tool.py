# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The release of the collection that writes a report. PRIVATE to the collection."""

import functools

from .._role_data import ROLES, load_yaml

NAME = "kubenode.netfilter"


@functools.lru_cache(maxsize=1)
def version() -> str:
    """The version of the collection: an installed one has MANIFEST.json, a checkout galaxy.yml."""
    try:
        return load_yaml(ROLES.parent / "MANIFEST.json")["collection_info"]["version"]
    except OSError:
        return load_yaml(ROLES.parent / "galaxy.yml")["version"]


def tool() -> dict:
    """The entry of each report about the program that wrote it."""
    return {"name": NAME, "version": version()}
