"""Clones with a launcher and next to nothing behind it: one tiny package, a command line that tells what it got."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent

_CLI = """
import json, os, sys
print(json.dumps({"arguments": sys.argv[1:], "folder": os.getcwd(), "path": sys.path, "python": sys.executable}))
"""


class Clone:
    """A folder with the real launcher, a lock of one tiny package and a command line that answers what it was given."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        shutil.copy2(ROOT / "longhaul", folder / "longhaul")
        (folder / "wheels").mkdir()
        digest = _tiny_wheel(folder / "wheels")
        self.lock(f"tiny==1.0 --hash=sha256:{digest}\n")
        (folder / "cli").mkdir()
        (folder / "cli" / "__init__.py").touch()
        (folder / "cli" / "__main__.py").write_text(_CLI)

    @property
    def venv(self) -> Path:
        """Where the launcher installs."""
        return self.folder / ".venv"

    @property
    def marker(self) -> Path:
        """What an install writes last."""
        return self.venv / "longhaul-installed"

    @property
    def package(self) -> Path:
        """The one package, installed."""
        return next(self.venv.glob("lib/*/site-packages/tiny.py"))

    @property
    def lock_text(self) -> str:
        """What its lock says."""
        return (self.folder / "requirements.lock").read_text()

    def lock(self, text: str) -> None:
        """Write another lock."""
        (self.folder / "requirements.lock").write_text(text)

    def start(self, *arguments: str, path: str = "", cwd: Path | None = None) -> "subprocess.Popen[str]":
        """Start the launcher in an empty environment, apart from a PATH that begins with `path`."""
        return subprocess.Popen(
            [str(self.folder / "longhaul"), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=cwd or self.folder,
            env={
                "PATH": path or f"{Path(sys.executable).resolve().parent}:{os.defpath}",
                "HOME": "/nonexistent",
                "PIP_NO_INDEX": "1",
                "PIP_FIND_LINKS": (self.folder / "wheels").as_uri(),
            },
        )

    def run(self, *arguments: str, path: str = "", cwd: Path | None = None) -> tuple[int, Any, str]:
        """Exit code, what the command line answered (None if it was not reached), and stderr."""
        process = self.start(*arguments, path=path, cwd=cwd)
        out, err = process.communicate(timeout=120)
        return process.returncode, json.loads(out) if out else None, err


def _tiny_wheel(folder: Path) -> str:
    """Write the package, and answer its hash."""
    wheel = folder / "tiny-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("tiny.py", "")
        archive.writestr("tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        archive.writestr("tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("tiny-1.0.dist-info/RECORD", "")
    return hashlib.sha256(wheel.read_bytes()).hexdigest()


def programs(folder: Path, scripts: Mapping[str, str]) -> str:
    """A PATH of one folder: the tools a launcher needs, and the given shell scripts by name."""
    folder.mkdir()
    for name in ("sh", "dirname", "readlink", "sha256sum", "cut", "rm", "mv", "env"):
        found = shutil.which(name)
        assert found, f"this machine has no {name}"
        (folder / name).symlink_to(found)
    for name, body in scripts.items():
        script = folder / name
        script.write_text(f"#!/bin/sh\n{body}\n")
        script.chmod(0o755)
    return str(folder)
