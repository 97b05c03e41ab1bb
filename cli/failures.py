"""How a command that can't go on says so: one sentence on stderr, an exit code, no traceback unless asked for."""

import errno
import sys
import traceback

import typer

from base.errors import Conflict, LonghaulError, Misconfigured, Refused, Stop
from base.terminal.exits import Exit
from base.terminal.words import plain

#: A message of somebody else's making may be a page; this much of it helps.
_LONGEST = 600


def present(error: BaseException, *, debug: bool = False) -> Exit:
    """Say what happened, why and what to do; the answer is the exit code to leave with."""
    if debug:
        traceback.print_exception(error)
    sys.stderr.write(f"{sentence(error)}\n")
    return exit_of(error)


def exit_of(error: BaseException) -> Exit:
    """The exit code that belongs to an error."""
    match error:
        case Conflict():
            return Exit.IN_THE_WAY
        case Refused() | Misconfigured():
            return Exit.USAGE
        case typer.TyperException():
            return Exit.USAGE
        case KeyboardInterrupt() | Stop():
            return Exit.INTERRUPTED
        case _:
            return Exit.FAILED


def sentence(error: BaseException) -> str:
    """What happened: why. What to do."""
    match error:
        case LonghaulError():
            return "\n".join(plain(line) for line in str(error).splitlines())
        case typer.TyperException():
            return _usage(error)
        case KeyboardInterrupt() | Stop():
            return "Interrupted."
        case OSError(errno=int(), strerror=str()):
            return _system(error)
        case _:
            return (
                f"Longhaul met an error of its own: {type(error).__name__}: {_cut(error)}. "
                "Nothing is lost; run the command again with --debug to see where, and report it."
            )


def _usage(error: typer.TyperException) -> str:
    what = plain(error.format_message()).replace("Value error, ", "")
    end = "" if what.endswith((".", "?")) else "."
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "longhaul"
    return f"{what}{end} `./{command} --help` shows what can be typed."


def _system(error: OSError) -> str:
    where = f" {plain(str(error.filename))}" if error.filename else ""
    advice = {
        errno.ENOSPC: "Free some space on that disk and run the command again.",
        errno.EACCES: "Use a path this user may read and write.",
        errno.EPERM: "Use a path this user may read and write.",
        errno.EROFS: "Use a path on a disk that can be written.",
        errno.ENOENT: "Check the path.",
    }.get(error.errno or 0, "Run the command again with --debug to see where.")
    return f"The system refused{where}: {error.strerror}. {advice}"


def _cut(error: BaseException) -> str:
    first = plain(str(error).strip().split("\n", 1)[0]).rstrip(".")
    return first if len(first) <= _LONGEST else first[:_LONGEST] + "..."
