# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Report files on the controller. PRIVATE to the collection."""

import json
import os
import stat
import tempfile
import urllib.parse

from ..module_utils._conntrack.size import MOST
from ..module_utils._errors import BadInput

# With all evidence a report is far below that.
_READ_LIMIT = 4 * 1024 * 1024


def file_name(host):
    """A name any inventory name can be stored under: no path, no hidden file, no two hosts the same."""
    quoted = urllib.parse.quote(host, safe="")
    if quoted.startswith("."):
        quoted = "%2E" + quoted[1:]
    return quoted + ".json"


def node_path(folder, host):
    """Where the report of a host is kept."""
    return os.path.join(os.path.abspath(os.path.expanduser(folder)), "nodes", file_name(host))


def earlier_peak(folder, host):
    """Connections that an earlier report of a host knew of, 0 where there is none; a report that says anything else says nothing."""
    try:
        handle = os.open(node_path(folder, host), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as stream:
            found = os.fstat(handle)
            text = stream.read(_READ_LIMIT) if stat.S_ISREG(found.st_mode) and found.st_size <= _READ_LIMIT else b""
        peak = json.loads(text)["conntrack_peak"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return 0
    return peak if isinstance(peak, int) and not isinstance(peak, bool) and 0 <= peak <= MOST else 0


def prepare(folder):
    """Makes the folder and the one for nodes below it. Raises BadInput where that is not possible."""
    try:
        # A mode given to makedirs holds for the last folder alone.
        os.makedirs(folder, mode=0o700, exist_ok=True)
        os.makedirs(os.path.join(folder, "nodes"), mode=0o700, exist_ok=True)
    except OSError as error:
        raise BadInput("The report folder %s cannot be made: %s" % (folder, error.strerror)) from None


def write(path, text):
    """Replaces a file as a whole, readable by its owner only. Raises BadInput; a half-written file never stays."""
    try:
        handle, temporary = tempfile.mkstemp(prefix=".report-", dir=os.path.dirname(path))
    except OSError as error:
        raise BadInput("The report %s cannot be written: %s" % (path, error.strerror)) from None
    try:
        with os.fdopen(handle, "w", encoding="ascii") as stream:
            stream.write(text)
        os.replace(temporary, path)
    except OSError as error:
        raise BadInput("The report %s cannot be written: %s" % (path, error.strerror)) from None
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)
