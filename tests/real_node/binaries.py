# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Kubernetes programs that a run needs, by the folder that holds them."""

import os

# {program: what it is for}
NEEDED = {
    "kubelet": "the node",
    "kube-proxy": "the node",
    "kube-apiserver": "the control plane",
    "kube-controller-manager": "the control plane",
}


def problem(folder):
    """Why the programs in `folder` cannot be used, in one sentence; None where they can."""
    if not folder:
        return ("no folder with Kubernetes programs is given: KUBERNETES=FOLDER names one that holds %s"
                % " ".join(NEEDED))
    missing = [name for name in NEEDED if not os.access(os.path.join(folder, name), os.X_OK)]
    if missing:
        return ("%s lacks %s: build or copy each as an executable file of that name for this machine's "
                "architecture, all of one Kubernetes version" % (folder, ", ".join(missing)))
    return None
