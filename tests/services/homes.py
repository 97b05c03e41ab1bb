"""Homes of embedded servers that tests start, and the files that root's servers keep outside of them."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from schema.embedded.place import SYSTEM_FOLDER


@contextmanager
def temporary_home() -> Iterator[Path]:
    """A folder for one server, removed at the end with what belongs to it elsewhere. Its users have to be gone."""
    folder = Path(tempfile.mkdtemp(prefix="longhaul-home-"))
    try:
        yield folder
    finally:
        elsewhere = folder / "postgres" / "elsewhere"
        if elsewhere.is_file():
            shutil.rmtree(SYSTEM_FOLDER / elsewhere.read_text(), ignore_errors=True)
        shutil.rmtree(folder, ignore_errors=True)
