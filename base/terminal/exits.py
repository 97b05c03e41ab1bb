"""What a command's exit code says. `docs/commands.md` lists these and nothing else; a test compares them."""

from enum import IntEnum


class Exit(IntEnum):
    """Exit codes: 0 everything, 3 something, 6 something that is not in files yet, every other nothing."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    PARTIAL = 3
    IN_THE_WAY = 4
    CANCELED = 5
    NOT_WRITTEN = 6
    INTERRUPTED = 130
    BROKEN_PIPE = 141
    TERMINATED = 143

    @property
    def meaning(self) -> str:
        """One clause for the documentation."""
        return _MEANINGS[self]


_MEANINGS = {
    Exit.DONE: "done",
    Exit.FAILED: "failed, nothing applied",
    Exit.USAGE: "bad input, usage or settings, nothing started",
    Exit.PARTIAL: "partial: some of it failed, the rest is applied",
    Exit.IN_THE_WAY: "another open run stands in the way",
    Exit.CANCELED: "canceled while it was followed, nothing applied",
    Exit.NOT_WRITTEN: "applied, but the files could not be written; `runs export ID` writes them",
    Exit.INTERRUPTED: "interrupted by Ctrl-C; a run stays open; its lane or the same command goes on with it",
    Exit.BROKEN_PIPE: "the reader of stdout went away",
    Exit.TERMINATED: "ended by SIGTERM; a run stays open; its lane or the same command goes on with it",
}
