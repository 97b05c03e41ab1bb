"""Homes of embedded servers that tests start, and the files that root's servers keep outside of them."""

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from schema.embedded import leftovers
from schema.embedded.locks import Lock
from schema.embedded.place import SYSTEM_FOLDER

_PREFIX = "longhaul-home-"
_STOP_SECONDS = 60


@contextmanager
def temporary_home() -> Iterator[Path]:
    """A folder for homes, removed at the end with what belongs to them elsewhere. Their users have to be gone."""
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    try:
        yield folder
    finally:
        for sign in folder.glob("**/postgres/elsewhere"):
            _wait_until_down(sign.parent)
            leftovers.remove(SYSTEM_FOLDER / sign.read_text())
        shutil.rmtree(folder, ignore_errors=True)


def remove_what_killed_tests_left() -> None:
    """A test run that was killed could not remove its homes' files. Nobody else's are touched."""
    for left in leftovers.found(SYSTEM_FOLDER):
        if any(part.startswith(_PREFIX) for part in left.home.parts) and left.home.is_relative_to(
            tempfile.gettempdir()
        ):
            leftovers.remove(left.folder)


def _wait_until_down(locks: Path) -> None:
    """A server whose users were killed is stopped by its keeper, in its own time."""
    deadline = time.monotonic() + _STOP_SECONDS
    look = Lock(locks / "serving")
    try:
        while not look.try_exclusive() and time.monotonic() < deadline:
            time.sleep(0.02)
    finally:
        look.release()
