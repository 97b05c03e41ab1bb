"""Clusters below root's system folder whose home is gone: what a clone that was thrown away leaves behind.

Found, and never removed by itself: a home may be gone because its disk is not mounted, and its data is still wanted.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

#: In a home: which cluster is its own.
SIGN = "elsewhere"
#: Beside a cluster, where only root may write: whose it is.
_NOTE = ".home"


class Leftover(NamedTuple):
    """A folder of the system folder, and the home that it was made for."""

    folder: Path
    home: Path

    @property
    def size(self) -> int:
        """What its files take, in bytes."""
        files = (Path(root, name) for root, _, names in os.walk(self.folder) for name in names)
        return sum(file.lstat().st_size for file in files if file.exists())


def note(files: Path, home: Path) -> None:
    """Write down whose cluster it is, anew at each start: homes move."""
    files.with_suffix(_NOTE).write_text(str(home))


def found(system_folder: Path) -> Iterator[Leftover]:
    """Every cluster whose home is not where it was, or has another one now; none for a user who may not look."""
    try:
        for written in sorted(system_folder.glob(f"*{_NOTE}")):
            left = Leftover(written.with_suffix(""), Path(written.read_text()))
            sign = left.home / "postgres" / SIGN
            owned = sign.is_file() and sign.read_text().strip() == left.folder.name
            if left.folder.is_dir() and not owned:
                yield left
    except OSError:  # root's affair, or someone removes one right now
        return


def remove(folder: Path) -> None:
    """Remove a cluster and the note about it. Nobody may be using it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.with_suffix(_NOTE).unlink(missing_ok=True)
