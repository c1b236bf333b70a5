# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The progress of the whole test run: running parts, their times, parts that are left, and the expected end.

A run that a person starts has no timeout for a part. The progress shows a part that hangs: it runs longer than
expected, and its logs do not grow.
"""

import json

import cache

QUIET_SECONDS = 300
# Seconds that count as if they ran as expected, so that one short part does not change the estimate of long parts.
PRIOR_SECONDS = 600
AT_A_TIME = 2


def kept_seconds(lane):
    """Return {part: seconds} of earlier runs of a lane on this machine."""
    try:
        return {part: float(seconds) for part, seconds in json.loads(kept(lane).read_text(encoding="utf-8")).items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}  # No file yet, or a damaged one: the table of parts is good enough for an estimate.


def kept(lane):
    return cache.FOLDER / ("seconds-%s.json" % lane.name)


def expected_seconds(lane):
    """Return {part: seconds} of the last run on this machine, or of the table of parts, which has minutes."""
    known = kept_seconds(lane)
    return {part: known.get(part) or minutes * 60.0 for part, minutes, _settings in lane.parts}


def keep_seconds(lane, measured):
    """Save the times of the parts of this run; a part without a new time keeps the time of an earlier run."""
    cache.FOLDER.mkdir(parents=True, exist_ok=True)
    kept(lane).write_text(json.dumps(dict(kept_seconds(lane), **measured), indent=1, sort_keys=True), encoding="utf-8")


def slowness(expected, done, running):
    """Return how many times longer than expected the parts take in this run; parts that passed and overdue parts
    count."""
    seen = dict(done, **{part: seconds for part, seconds in running.items() if seconds > expected[part]})
    return (sum(seen.values()) + PRIOR_SECONDS) / (sum(expected[part] for part in seen) + PRIOR_SECONDS)


def remaining_seconds(expected, done, running, left, alone):
    """Return an estimate of the seconds until all is done: each part that is left starts when a running one ends, one
    that runs alone when all have ended."""
    factor = slowness(expected, done, running)
    ends = [max(expected[part] * factor - seconds, 0) for part, seconds in running.items()]
    ends += [0] * (AT_A_TIME - len(ends))
    for part in left:
        if part in alone:
            ends = [max(ends) + expected[part] * factor] * AT_A_TIME
        else:
            ends[ends.index(min(ends))] += expected[part] * factor
    return max(ends)


def in_minutes(seconds):
    return "%d min" % round(seconds / 60)


def running_words(part, seconds, expected, quiet, step):
    """Return a running part in words: `unit (7 of about 20 min, no output for 6 min)`."""
    if seconds > expected:
        words = ["%s, expected about %s" % (in_minutes(seconds), in_minutes(expected))]
    else:
        words = ["%d of about %s" % (round(seconds / 60), in_minutes(expected))]
    if step:
        words.append(step)
    if quiet >= QUIET_SECONDS:
        words.append("no output for " + in_minutes(quiet))
    return "%s (%s)" % (part, ", ".join(words))
