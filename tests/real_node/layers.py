# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Container images without a registry: one archive in the format of `docker save`, which containerd imports.

All images share the layer of Debian. A second layer adds files, or removes files of the first, like in a slim image.
"""

import hashlib
import io
import json
import pathlib
import tarfile

CONFIG = {"Env": ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"], "Cmd": ["/usr/bin/sleep", "infinity"]}


def write(path, base, images):
    """Write the archive `path`. `images`: {name: ({path in the image: file to add}, [paths to remove])}."""
    path = pathlib.Path(path)
    layers, manifest, configs = {_digest(base): pathlib.Path(base)}, [], {}
    for number, (name, (adds, removes)) in enumerate(images.items()):
        digests = [next(iter(layers))]
        if adds or removes:
            extra = path.with_name("layer%d" % number)
            _write_layer(extra, adds, removes)
            digests.append(_digest(extra))
            layers[digests[-1]] = extra
        config = "config%d.json" % number
        configs[config] = {"architecture": "amd64", "os": "linux", "config": CONFIG,
                           "rootfs": {"type": "layers", "diff_ids": ["sha256:" + digest for digest in digests]}}
        manifest.append({"Config": config, "RepoTags": [name], "Layers": [digest + ".tar" for digest in digests]})
    with tarfile.open(str(path), "w") as archive:
        for inside, thing in dict(configs, **{"manifest.json": manifest}).items():
            data = json.dumps(thing).encode()
            member = tarfile.TarInfo(inside)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
        for digest, layer in layers.items():
            archive.add(str(layer), digest + ".tar")


def _write_layer(path, adds, removes):
    with tarfile.open(str(path), "w") as layer:
        for inside, source in adds.items():
            layer.add(str(source), inside)
        for inside in removes:
            # A whiteout: the file of this name in a lower layer does not exist (OCI image specification).
            folder, _slash, file = inside.rpartition("/")
            layer.addfile(tarfile.TarInfo("%s/.wh.%s" % (folder, file)))


def _digest(path):
    found = hashlib.sha256()
    with open(str(path), "rb") as layer:
        for block in iter(lambda: layer.read(1 << 20), b""):
            found.update(block)
    return found.hexdigest()
