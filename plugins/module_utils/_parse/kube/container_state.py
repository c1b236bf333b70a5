# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of a container as its runtime keeps it on disk. PRIVATE to the collection.

Samples: containerd, internal/cri/store/container/status.go: `{"Version": "v1", "Pid": 0, "StartedAt":
1764110000000000000, "FinishedAt": 1764110001000000000, "ExitCode": 1, "Reason": "Error", "Message": ""}`; CRI-O,
internal/oci/container.go: `{"started": "2026-11-25T22:33:20Z", "finished": "2026-11-25T22:33:21Z", "exitCode": 137,
"oomKilled": true}`; Docker, daemon/container/state.go, below "State": `{"Running": false, "ExitCode": 1, "OOMKilled":
false, "Error": "", "StartedAt": "...", "FinishedAt": "..."}`.
"""

import calendar
import collections
import json
import re
import time

# Times in seconds since 1970, None for none; `reason` as kubelet shows it (OOMKilled, Error, Completed, StartError).
State = collections.namedtuple("State", "started finished exit_code reason message")
_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?(?:Z|([+-])(\d\d):(\d\d))\Z")
_REASON = re.compile(r"[A-Za-z]{1,40}\Z")


def seconds_of(text):
    """Seconds since 1970 of a time of RFC 3339, or None; also None for the zero time of Go."""
    found = _TIME.match(text) if isinstance(text, str) else None
    if not found:
        return None
    moment, sign, hours, minutes = found.groups()
    try:
        seconds = calendar.timegm(time.strptime(moment, "%Y-%m-%dT%H:%M:%S"))
    except ValueError:
        return None
    offset = int(hours) * 3600 + int(minutes) * 60 if sign else 0
    seconds = seconds + offset if sign == "-" else seconds - offset
    return seconds if seconds > 0 else None


def parse_container_state(text):
    """The `State` of a file of containerd, CRI-O or Docker, or None where it has another form."""
    try:
        held = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(held, dict):
        return None
    if held.get("Version") == "v1":
        started, finished = (_of_nanoseconds(held.get(key)) for key in ("StartedAt", "FinishedAt"))
        return _state(started, finished, held.get("ExitCode"), held.get("Reason"), held.get("Message"))
    # Keys of Docker begin with a capital letter, those of CRI-O do not.
    docker = held.get("State")
    values = {key.lower(): value for key, value in (docker if isinstance(docker, dict) else held).items()}
    started, finished = (seconds_of(values.get(name, values.get(name + "at"))) for name in ("started", "finished"))
    if started is None and finished is None:
        return None
    if values.get("running") is True:
        finished = None  # Docker keeps the time of the run before.
    return _state(started, finished, values.get("exitcode"), "OOMKilled" if values.get("oomkilled") is True else None,
                  values.get("error"))


def _of_nanoseconds(value):
    # int64 of Go. JSON has no limit, and a float cannot hold numbers of some hundred digits.
    return value // 10 ** 9 if isinstance(value, int) and 0 < value < 2 ** 63 else None


def _state(started, finished, code, reason, message):
    code = code if isinstance(code, int) and not isinstance(code, bool) and finished is not None else None
    if not (isinstance(reason, str) and _REASON.match(reason)):
        reason = None
    if finished is None:
        reason = None
    elif reason is None and code is not None:
        reason = "Error" if code else "Completed"
    return State(started, finished, code, reason, message if isinstance(message, str) else "")
