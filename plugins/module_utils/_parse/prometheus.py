# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Samples of the Prometheus text format 0.0.4, for selected metrics. PRIVATE to the collection."""

import math
import re

LINE_LIMIT = 4096
SAMPLES_LIMIT = 5000
_SAMPLE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{([^\n]*)\})?[ \t]+(\S+)(?:[ \t]+-?[0-9]+)?[ \t]*\Z")
_LABEL = re.compile(r'[ \t]*([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"[ \t]*(?:,|\Z)')
# float() takes underscores and digits of other scripts as well, which Prometheus never writes.
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]{1,3})?|Inf)\Z")


def parse_metrics(text, names):
    """`{name: [({label: value}, number)]}` of the metrics in `names`, in the order of the text.

    A sample that is NaN has no number and is left out, like a line that is not a sample. At most `SAMPLES_LIMIT`
    samples are read.
    """
    found, taken = {}, 0
    for line in text.split("\n"):
        if line[:1] in ("#", "") or len(line) > LINE_LIMIT or line.partition(" ")[0].partition("{")[0] not in names:
            continue
        match = _SAMPLE.match(line)
        labels = _labels(match.group(2) or "") if match else None
        if labels is None or not _NUMBER.match(match.group(3)):
            continue
        found.setdefault(match.group(1), []).append((labels, float(match.group(3))))
        taken += 1
        if taken == SAMPLES_LIMIT:
            break
    return found


def _labels(text):
    """{label: value}, None where the text between the braces is no list of labels."""
    labels, place = {}, 0
    while text[place:].strip(" \t"):
        match = _LABEL.match(text, place)
        if match is None:
            return None
        labels[match.group(1)] = match.group(2)
        place = match.end()
    return labels


class Histogram:
    """The buckets of one series, `{upper bound: observations up to it}`, with the number of all observations.

    `count`: None if the buckets contradict each other; then there are no quantiles.
    """

    def __init__(self, buckets, count=None):
        self.bounds = sorted(bound for bound in buckets if not math.isinf(bound))
        self._counts = [buckets[bound] for bound in self.bounds]
        # A truncated text may lack the last bucket; the count of all observations is the same number.
        self.count = buckets.get(math.inf, count)
        steps = self._counts + [self.count] if self.count is not None else []
        if not steps or min(steps) < 0 or steps != sorted(steps) or math.isinf(steps[-1]):
            self.count = None

    def above_percent(self):
        """Percent of the observations above the largest finite bound; None without observations or bound."""
        if not self.count or not self.bounds:
            return None
        return round(100.0 * (self.count - self._counts[-1]) / self.count, 2)

    def quantile(self, share):
        """The value below which `share` (0 to 1) of the observations are, interpolated as histogram_quantile() does.

        None above the largest finite bound: the buckets do not show how far above.
        """
        if not self.count or not self.bounds:
            return None
        rank, below, lower = share * self.count, 0.0, 0.0
        for bound, count in zip(self.bounds, self._counts):
            if count >= rank and count > below:
                return round(lower + (bound - lower) * (rank - below) / (count - below), 4)
            below, lower = count, bound
        return None


def histogram(samples, name, fits):
    """The Histogram of `name` in parsed `samples` whose labels make `fits(labels)` true; None without one."""
    buckets = {float(labels["le"]): number for labels, number in samples.get(name + "_bucket", ())
               if fits(labels) and _NUMBER.match(labels.get("le", ""))}
    count = next((number for labels, number in samples.get(name + "_count", ()) if fits(labels)), None)
    return Histogram(buckets, count) if buckets or count is not None else None
