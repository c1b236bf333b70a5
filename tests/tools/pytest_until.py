# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""pytest with a time limit: tests that would begin later are skipped, with that as the reason. Usage: pytest_until.py
SECONDS ARGUMENT..."""

import sys
import time

import pytest


class Until:
    """Skips tests that begin after the end, except the first test, because a run without any test proves nothing."""

    def __init__(self, seconds):
        self.seconds, self.end, self.began = seconds, time.monotonic() + seconds, False

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item):
        if self.began and time.monotonic() >= self.end:
            pytest.skip("not begun within %d seconds" % self.seconds)
        self.began = True


if __name__ == "__main__":
    sys.exit(pytest.main(sys.argv[2:], plugins=[Until(int(sys.argv[1]))]))
