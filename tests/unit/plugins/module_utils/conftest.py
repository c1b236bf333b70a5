# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What all node tests share: the folder of fixtures on the path, and reproducible hypothesis runs."""

import pathlib
import sys

import hypothesis

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "fixtures"))

# The Python of the controller looks for new cases; the oldest, which takes four times as long for each, is to show that the code runs there.
EXAMPLES = 150 if sys.version_info >= (3, 8) else 40

# A failure prints the line that repeats it (reproduce_failure); nothing is written beside the tests.
hypothesis.settings.register_profile("node", print_blob=True, derandomize=False, deadline=None, database=None, max_examples=EXAMPLES)
hypothesis.settings.load_profile("node")
