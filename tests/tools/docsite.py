# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The changelog and the pages that a documentation site shows, as the tools of the Ansible community make them."""

import pkgutil
import shutil
import sys
import zlib

import yaml
from results import BUILD, TOP, clean_env, copy_collection, make_venv

REQUIREMENTS = ("antsibull-docs>=2.16,<3", "antsibull-changelog>=0.30,<1", "sphinx>=7,<10",
                "sphinx-ansible-theme>=0.10,<1")
COLLECTION = "kubenode.netfilter"
CHANGELOG = ("changelogs/changelog.yaml", "CHANGELOG.rst")
# The fragment with the summary of a version. A release removes all fragments, so where this one exists, the version is
# not released yet.
SUMMARY = "changelogs/fragments/%s.yml"
# Labels of Ansible's own documentation. With this list the build needs no network, and a wrong label is still an
# error.
ANSIBLE_DOCS = "https://docs.ansible.com/projects/ansible/devel/"
ANSIBLE_LABELS = ("action_plugins", "ansible_configuration_settings", "common_return_values", "connection_plugins",
                  "become_plugins", "playbooks_vault", "check_mode_dry")
INVENTORY_HEAD = ("# Sphinx inventory version 2\n# Project: Ansible\n# Version: devel\n# The remainder of this file is "
                  "compressed using zlib.\n")


def write_inventory(path):
    """Write the inventory file in which Sphinx keeps the labels of another site."""
    import ansible.modules
    labels = list(ANSIBLE_LABELS) + ["ansible_collections.ansible.builtin.%s_module" % found.name
                                     for found in pkgutil.iter_modules(ansible.modules.__path__)]
    lines = "".join("%s std:label -1 index.html %s\n" % (label, label) for label in labels)
    path.write_bytes(INVENTORY_HEAD.encode() + zlib.compress(lines.encode()))


def releases(folder):
    return yaml.safe_load((folder / CHANGELOG[0]).read_text(encoding="utf-8"))["releases"] or {}


def write_release(run, folder, version, date):
    """Write the changelog of a version from the fragments, which are removed, and from modules, plugins and roles; an
    earlier draft of the same version goes."""
    path = folder / CHANGELOG[0]
    kept = yaml.safe_load(path.read_text(encoding="utf-8"))
    (kept["releases"] or {}).pop(version, None)
    path.write_text(yaml.safe_dump(kept, sort_keys=False), encoding="utf-8")
    return run("antsibull-changelog release", "antsibull-changelog", "release", "--version", version, "--date", date,
               "--reload-plugins", cwd=folder)


def changelog(results, run, copy, check):
    """Write the changelog of a version that is not released yet, or check that it is current; one that is released
    stays as it is."""
    run("antsibull-changelog lint", "antsibull-changelog", "lint", cwd=copy)
    version = str(yaml.safe_load((copy / "galaxy.yml").read_text(encoding="utf-8"))["version"])
    release = releases(copy).get(version)
    if release is None:
        results.add("%s has release %s: run `antsibull-changelog release`" % (CHANGELOG[0], version), 0, 1)
        return
    if not (copy / (SUMMARY % version)).exists():
        # The fragments of the next release are not part of a released version.
        results.add("changelog of %s, which is released" % version, 1, 0)
        return
    if not write_release(run, copy, version, str(release["release_date"])):
        return
    if check:
        stale = [name for name in CHANGELOG if (copy / name).read_bytes() != (TOP / name).read_bytes()]
        results.add("changelog names what there is", len(CHANGELOG) - len(stale), len(stale))
        for name in stale:
            print("    %s is not what `make docs` writes" % name)
    else:
        for name in CHANGELOG:
            shutil.copyfile(str(copy / name), str(TOP / name))
            print("  wrote %s" % name)


def site(run, copy):
    """Build the pages of the collection. A warning is an error."""
    run("antsibull-docs lint-collection-docs", "antsibull-docs", "lint-collection-docs", "--plugin-docs",
        "--skip-rstcheck", "--validate-collection-refs", "all", "--disallow-unknown-collection-refs",
        "--check-extra-docs-refs", copy)
    place = BUILD / "docsite"
    shutil.rmtree(str(place), ignore_errors=True)
    (place / "rst").mkdir(parents=True, mode=0o700)
    place.chmod(0o700)  # antsibull-docs refuses a folder that other users can write to.
    write_inventory(place / "ansible.inv")
    if not run("antsibull-docs sphinx-init", "antsibull-docs", "sphinx-init", "--use-current", "--project", COLLECTION,
               "--title", COLLECTION, "--dest-dir", place, COLLECTION):
        return
    with open(str(place / "conf.py"), "a", encoding="utf-8") as conf:
        conf.write("\nintersphinx_mapping = {'ansible_devel': (%r, %r)}\n" % (ANSIBLE_DOCS, str(place / "ansible.inv")))
    if run("antsibull-docs collection", "antsibull-docs", "--config-file", place / "antsibull-docs.cfg", "collection",
           "--use-current", "--fail-on-error", "--dest-dir", place / "rst", COLLECTION):
        run("sphinx-build -W", "sphinx-build", "-W", "--keep-going", "-n", "-b", "html", "-c", place, place / "rst",
            place / "html")


def prepared(results):
    """Return (a function that runs a tool as one row, a copy of the collection), or None if the tools cannot be
    installed."""
    venv = make_venv("docsite", sys.executable, *REQUIREMENTS, "-r", "requirements.txt")
    if venv is None:
        results.add("docs site: no virtual environment", 0, 1)
        return None
    path, copy = copy_collection("docs")
    env = clean_env(PATH="%s:/usr/bin:/bin" % (venv / "bin"), HOME=str(path), ANSIBLE_COLLECTIONS_PATH=str(path))

    def run(what, program, *arguments, cwd=BUILD):
        return results.run(what, [venv / "bin" / program, *arguments], cwd=cwd, env=env)

    return run, copy
