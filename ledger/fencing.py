"""The fence: whoever writes for a run must still hold it (I2)."""

from typing import TypeVar

from base.errors import ClaimLost

_Row = TypeVar("_Row")


def refuse_stale(found: _Row | None) -> _Row:
    """Stop the run when the fenced write that comes first in its transaction found no row; nothing else is written.

    `found` is what that write answered: its row, or whether it found one.

    Raises:
        ClaimLost: the job is not running under this fence: it was taken back, canceled, or has ended.
    """
    if not found:
        raise ClaimLost("The claim on this job is no longer held.")
    return found
