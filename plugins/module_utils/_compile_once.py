# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compiles each module of this collection once when it is imported from the archive that Ansible sends. PRIVATE to the
collection.

Where the archive holds sources, Python compiles each module twice: once to import it, and once before that to find its
file name (CPython Lib/zipimport.py, get_filename() and get_code(), seen in 3.6 to 3.13). For node_facts that was 50 of
180 ms.
"""

import importlib.machinery
import sys
import zipimport

# Folder of the archive -> its importer.
_importers = {}


class ArchiveFinder:
    """A finder for sys.meta_path that takes a module's file name from the place where it found the module."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        """`ModuleSpec` of a module of this collection, None for packages, which are empty, and for all other names."""
        if not name.startswith(__package__ + ".") or not path:
            return None
        folder = path[0]
        try:
            if folder not in _importers:
                _importers[folder] = zipimport.zipimporter(folder)
            if _importers[folder].is_package(name):
                return None
        except zipimport.ZipImportError:
            return None
        spec = importlib.machinery.ModuleSpec(name, _importers[folder],
                                              origin="%s/%s.py" % (folder, name.rpartition(".")[2]))
        spec.has_location = True
        return spec


def install(loader):
    """Install the finder if `loader`, which loaded a module of this collection, reads an archive."""
    if isinstance(loader, zipimport.zipimporter) and ArchiveFinder not in sys.meta_path:
        sys.meta_path.insert(0, ArchiveFinder)
