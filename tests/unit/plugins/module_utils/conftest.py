# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What all node tests share: the folder of fixtures on the path, and reproducible hypothesis runs."""

import os
import pathlib
import sys

import hypothesis

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "fixtures"))

# Many cases look for new ones. With a seed they are the same each time, and the oldest Python, which takes four times
# as long for each, is only to show that the code runs there.
EXAMPLES = 150 if sys.version_info >= (3, 8) and not os.environ.get("KUBENODE_SEED") else 40

# A failure prints the line that repeats it (reproduce_failure); nothing is written beside the tests.
hypothesis.settings.register_profile("node", print_blob=True, derandomize=False, deadline=None, database=None,
                                     max_examples=EXAMPLES)
hypothesis.settings.load_profile("node")
