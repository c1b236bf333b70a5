# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many examples property tests of this folder try."""

import hypothesis

hypothesis.settings.register_profile("controller", print_blob=True, deadline=None, max_examples=60)
hypothesis.settings.load_profile("controller")
