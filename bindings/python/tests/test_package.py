# SPDX-License-Identifier: MIT
"""The package. Proves:
1. pip installs it without the network and without a compiler, in both ways, with its types, and uninstalls it
2. the programs of its README do what they say, as they stand there
3. each public name has a docstring, and the types are whole by mypy, if that is there
"""

import importlib.util
import inspect
import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import muster
from support import DEADLINE_S, PACKAGE, SOURCE, Case, eventually

MYPY = "/usr/lib/python3/dist-packages/mypy"


def programs():
    """The blocks of Python in the README, each complete."""
    return re.findall(r"^```python\n(.*?)^```$", (PACKAGE / "README.md").read_text(), re.DOTALL | re.MULTILINE)


@unittest.skipUnless(importlib.util.find_spec("pip"), "pip is not installed (python3-pip)")
class Installed(unittest.TestCase):
    def install(self, *options):
        directory = tempfile.TemporaryDirectory(prefix="muster-python.")
        self.addCleanup(directory.cleanup)
        venv = f"{directory.name}/venv"
        subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", "--without-pip", venv], check=True)
        # Nobody answers there: whoever asks a registry fails. No compiler is in the PATH, either.
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        environment |= {"PIP_INDEX_URL": "http://127.0.0.1:1/", "PIP_CACHE_DIR": f"{directory.name}/cache"}
        environment |= {"PATH": f"{venv}/bin", "TMPDIR": directory.name}
        environment.pop("PIP_EXTRA_INDEX_URL", None)
        pip = [f"{venv}/bin/python", "-m", "pip", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "install", *options, PACKAGE], env=environment, check=True)
        text = """
import importlib.metadata, muster, pathlib
package = pathlib.Path(muster.__file__).parent
print(package, (package / "py.typed").exists(), importlib.metadata.version("muster"))"""
        run = subprocess.run([f"{venv}/bin/python", "-c", text], env=environment, check=True, capture_output=True, text=True)
        subprocess.run([*pip, "uninstall", "--yes", "muster"], env=environment, check=True)
        left = subprocess.run([f"{venv}/bin/python", "-c", "import muster"], env=environment, capture_output=True)
        self.assertEqual(left.returncode, 1)
        where, is_typed, version = run.stdout.split()
        self.assertEqual((is_typed, version), ("True", muster.library_version()))
        return where

    def test_pip_install(self):
        self.assertTrue(self.install().endswith("site-packages/muster"))

    def test_pip_install_without_isolation(self):
        self.assertTrue(self.install("--no-build-isolation").endswith("site-packages/muster"))

    def test_pip_install_editable(self):
        self.assertEqual(Path(self.install("--editable")).resolve(), PACKAGE / "muster")


class Readme(Case):
    def test_a_producer_and_a_worker(self):
        producer, worker, *_ = programs()
        self.assertEqual(self.finished(self.program(producer)), ("", ""))
        child = self.program(worker)
        self.assertEqual(child.stdout.readline(), "mail to ann\n")
        child.send_signal(signal.SIGTERM)
        self.assertEqual((self.finished(child), child.returncode), (("", ""), 0))

    def test_asyncio(self):
        _, _, worker, client, *_ = programs()
        self.client.enqueue("mail", "to bob")
        child = self.program(worker)
        eventually(lambda: self.client.length("sent"))
        child.send_signal(signal.SIGTERM)
        self.assertEqual(self.finished(child), ("", ""))
        said, errors = self.finished(self.program(client))
        self.assertEqual((said.split("\n")[:2], len(said.split("\n")), errors), (["to 0", "to 1"], 1001, ""))

    def test_leases_and_jobs(self):
        self.assertEqual(self.finished(self.program(programs()[4])), ("complete\n", ""))

    def test_many_leases(self):
        self.client.enqueue_many("mail", ["a", "b"])
        self.assertEqual(self.finished(self.program(programs()[5])), ("", ""))
        self.assertEqual((self.client.length("mail"), self.client.processes()), (0, []))

    def test_a_listener(self):
        self.assertEqual(self.finished(self.program(programs()[6])), ("ready None\n", ""))


class Words(unittest.TestCase):
    def test_each_public_name_has_a_docstring(self):
        for name in muster.__all__:
            thing = getattr(muster, name)
            self.assertTrue(thing.__doc__, name)
            if not inspect.isclass(thing) or issubclass(thing, (BaseException, int)):
                continue
            for member, value in inspect.getmembers(thing):
                if not member.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
                    self.assertTrue(value.__doc__, f"{name}.{member}")

    @unittest.skipUnless(Path(MYPY).exists(), "python3-mypy is not installed")
    def test_types_are_whole(self):
        argv = ["/usr/bin/python3", "-m", "mypy", "--strict", "--cache-dir", os.devnull, PACKAGE / "muster"]
        ran = subprocess.run(argv, capture_output=True, text=True, timeout=4 * DEADLINE_S, cwd=SOURCE)
        self.assertEqual(ran.returncode, 0, ran.stdout)


if __name__ == "__main__":
    unittest.main()
