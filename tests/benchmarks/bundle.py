# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long it takes to judge a support bundle of 200 files with 100 MB of logs, compared with grep for the words of
errors."""

import json
import sys

from logs import any_of, write_log
from measure import TOP, Outcome, quiet, take_turns, workplace

JUDGE, GREP = "a bundle, judged", "grep -rE"
FILES = {False: 200, True: 10}
SIZE = {False: 100 << 20, True: 2 << 20}
ROUNDS = {False: 5, True: 1}
LIMIT, SECONDS_LIMIT = 15, 6.0
# A log in ten has errors.
ERRORS_IN, ERROR_EVERY = 10, 1000
JUDGED = ("import json, sys; sys.path[:0] = sys.argv[2:]; import bundles; found = bundles.judged(sys.argv[1])[0]; "
          "print(json.dumps(bundles.told(found, 'fail')))")


def measure(smoke):
    sys.path.insert(0, str(TOP / ".build"))
    from ansible_collections.kubenode.netfilter.plugins.module_utils._parse.logs.candidates import WORDS
    with workplace() as folder:
        bundle = folder / "bundle"
        bundle.mkdir()
        for number in range(FILES[smoke]):
            write_log(bundle / ("node-%03d.log" % number), SIZE[smoke] // FILES[smoke],
                      0 if number % ERRORS_IN else ERROR_EVERY)
        judge = [sys.executable, "-c", JUDGED, bundle, TOP / ".build", TOP / "tests" / "fixtures"]
        grep = ["sh", "-c", "grep -rcE \"$0\" \"$1\" || test $? = 1", any_of(WORDS), bundle]
        told = json.loads(quiet(judge))
        seconds = take_turns({JUDGE: lambda: quiet(judge), GREP: lambda: quiet(grep)}, ROUNDS[smoke])
    outcome = Outcome("bundle", "a folder of %d files with %d MB of logs, one in %d with errors; warm cache" % (
        FILES[smoke], SIZE[smoke] >> 20, ERRORS_IN), JUDGE, GREP, seconds, LIMIT, True, [])
    met = "met" if outcome.median(JUDGE) <= SECONDS_LIMIT else "missed"
    outcome.notes.append("checks that fail: %s; the whole call %.2f s (target at most %.1f s: %s)" % (
        ", ".join(sorted(told)) or "none", outcome.median(JUDGE), SECONDS_LIMIT, met))
    return outcome
