# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the record of the changes to hooks lies on the node. PRIVATE to the collection."""

from ..._host.caller import STATE

FOLDER = STATE + "/flush_hooks"
RECORD = FOLDER + "/record.json"
# Where scripts of packages lie while an edited copy is in their place.
ASIDE = FOLDER + "/diverted"
