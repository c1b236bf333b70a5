# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Evidence builder shared by the tests of this folder."""

import pathlib
import sys

import hypothesis

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "checks"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "fixtures"))
hypothesis.settings.register_profile("controller", print_blob=True, deadline=None, max_examples=60)
hypothesis.settings.load_profile("controller")
