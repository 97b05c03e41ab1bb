"""Which exit code a run's end is, and whether it changed the mapping."""

from actors.enrichment.reading import RunView
from base.terminal.exits import Exit


def exit_of(run: RunView) -> Exit:
    """Whole success 0, part of it 3, canceled 5, anything else that applied nothing 1."""
    match run.state:
        case "Completed" if run.reason is None:
            return Exit.DONE
        case "Completed":
            return Exit.PARTIAL
        case "Canceled":
            return Exit.CANCELED
        case _:
            return Exit.FAILED


def was_applied(run: RunView) -> bool:
    """Whether the run wrote a new version of its mapping (E25)."""
    return exit_of(run) in {Exit.DONE, Exit.PARTIAL}
