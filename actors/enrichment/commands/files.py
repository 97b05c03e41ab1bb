"""Files and words from the command line, read once and refused in one sentence before anything is written."""

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from base.errors import BadInput
from schema.enrichment.payloads import TARGETS, Target


def read_file(path: Path, noun: str, largest: int) -> bytes:
    """The bytes of a file. `noun` is what it is to the reader: `definition`, `reference`.

    Raises:
        BadInput: it is missing, no file, not readable, or larger than `largest` bytes.
    """
    try:
        found = path.stat()
        if stat.S_ISDIR(found.st_mode):
            raise BadInput(f"Can't read the {noun} {path}: it is a folder. Name the file in it.")
        if found.st_size > largest:
            raise BadInput(
                f"The {noun} {path} is too large: {found.st_size:,} bytes, at most {largest:,} are read. "
                "Leave out what isn't needed, or raise the limit (docs/settings.md, Limits)."
            )
        with path.open("rb") as file:
            data = file.read(largest + 1)
    except OSError as error:
        advice = "Check the path." if isinstance(error, FileNotFoundError) else "Check that this user may read it."
        raise BadInput(f"Can't read the {noun} {path}: {error.strerror or error}. {advice}") from None
    if len(data) > largest:  # a pipe or a device, which has no size to look at first
        raise BadInput(f"The {noun} {path} is too large: at most {largest:,} bytes are read.")
    return data


def refuse_unwritable(folder: Path) -> None:
    """Look, before a run is paid for, whether its results could be written; makes nothing.

    Raises:
        BadInput: the folder, or the first of its parents that exists, is none or can't be written.
    """
    there = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
    if not there.is_dir():
        raise BadInput(f"The results can't be written to {folder}: {there} is no folder. Name another with --out.")
    if not os.access(there, os.W_OK | os.X_OK):
        raise BadInput(
            f"The results can't be written to {folder}: {there} may not be written. Name another with --out."
        )


def targets(words: Sequence[str]) -> tuple[Target, ...]:
    """What to write, all of it without `--target`; dashes and underscores are alike.

    Raises:
        BadInput: a word that is no target; the sentence lists them.
    """
    if not words:
        return TARGETS
    known = {target: target for target in TARGETS}
    chosen: list[Target] = []
    for word in words:
        target = known.get(word.strip().replace("-", "_"))  # type: ignore[call-overload]
        if target is None:
            every = ", ".join(known).replace("_", "-")
            raise BadInput(f"There is no target `{word}`. Take one or more of: {every}.")
        chosen.append(target)
    return tuple(target for target in TARGETS if target in chosen)


def instructions(text: str | None, largest: int) -> str:
    """The instructions themselves, or with `@FILE` what that file says."""
    if text is None:
        return ""
    if not text.startswith("@"):
        return text
    path = Path(text[1:])
    data = read_file(path, "instructions file", largest)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadInput(f"The instructions file {path} is no UTF-8 text. Save it as plain text.") from None
