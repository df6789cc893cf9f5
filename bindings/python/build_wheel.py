# SPDX-License-Identifier: MIT
"""Makes the wheel (PEP 517): what pip calls. The package is pure Python, so a wheel is its files and three more in a zip
archive; no setuptools is needed, which pip would fetch from the network."""

import base64
import hashlib
import re
import zipfile
from pathlib import Path

HERE = Path(__file__).parent
VERSION_H = HERE / "../../include/muster/version.h"
TAG = "py3-none-any"


def version():
    found = re.search(r'^#define MUSTER_VERSION "(.*)"$', VERSION_H.read_text(), re.MULTILINE)
    if not found:
        raise SystemExit(f"{VERSION_H} states no version: build the package inside muster's sources")
    return found[1]


def metadata():
    return f"""Metadata-Version: 2.1
Name: muster
Version: {version()}
Summary: A worker-registry task queue on Redis
License: MIT
Requires-Python: >=3.11
Description-Content-Type: text/markdown

{(HERE / "README.md").read_text()}"""


def write(path, files):
    """A wheel of these files, their names and bytes, and the list of them."""
    info = f"muster-{version()}.dist-info"
    files = {
        **files,
        f"{info}/METADATA": metadata().encode(),
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: muster\nRoot-Is-Purelib: true\nTag: {TAG}\n".encode(),
    }
    rows = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, content in files.items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            rows.append(f"{name},sha256={digest},{len(content)}\n")
            wheel.writestr(name, content)
        wheel.writestr(f"{info}/RECORD", "".join(rows) + f"{info}/RECORD,,\n")


def make(directory, files):
    name = f"muster-{version()}-{TAG}.whl"
    write(Path(directory) / name, files)
    return name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    package = [path for path in sorted((HERE / "muster").iterdir()) if path.suffix == ".py" or path.name == "py.typed"]
    return make(wheel_directory, {f"muster/{path.name}": path.read_bytes() for path in package})


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    return make(wheel_directory, {"muster.pth": f"{HERE.resolve()}\n".encode()})


def build_sdist(sdist_directory, config_settings=None):
    raise SystemExit("there is no source distribution of the Python package alone: build it inside muster's sources")
