"""The command line: one noun, one file; what a pipeline brings is mounted beside it.

Nothing heavy is imported here, so that `./longhaul --help` and completion answer at once.
"""

import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Annotated

import typer

import actors
from base.terminal.example import group
from base.terminal.exits import Exit
from cli import VERSION, doctor, failures, jobs, migrate, serving, testing

#: The name in usage lines and in the completion script, whatever path the launcher was called by.
_PROGRAM = "longhaul"


def _say_version(asked: bool) -> None:
    if asked:
        typer.echo(f"{_PROGRAM} {VERSION}")
        raise typer.Exit


def build() -> typer.Typer:
    """Every command there is."""
    app = typer.Typer(
        name=_PROGRAM,
        cls=group("./longhaul enrich examples/epa-cwa.json --reference examples/epa-cwa-dictionary.json"),
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    )
    app.callback()(_root)
    _mount_pipelines(app)
    for station in (jobs, serving, migrate, doctor, testing):
        station.register(app)
    return app


def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Say which version this is.")
    ] = False,
    debug: Annotated[  # run() has taken it from the line already; here it is only documented
        bool, typer.Option("--debug", help="Show tracebacks; may stand anywhere on the line.")
    ] = False,
) -> None:
    """Background work for the long haul: jobs that survive whatever happens to worker, broker and database."""


def _mount_pipelines(app: typer.Typer) -> None:
    for pipeline in actors.PIPELINES:
        name = f"actors.{pipeline}.commands"
        if find_spec(name) is not None:
            import_module(name).register(app)


def run(arguments: Sequence[str]) -> int:
    """Run one command line and answer its exit code; never raises, never shows a traceback unasked."""
    _accept_any_text()
    words, debug = _without_debug(arguments)
    try:
        code = typer.main.get_command(build())(args=words, prog_name=_PROGRAM, standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        _silence_stdout()
        return Exit.BROKEN_PIPE
    except SystemExit as leaving:
        if isinstance(leaving.__context__, BrokenPipeError):  # the parser's own way to take one
            _silence_stdout()
            return Exit.BROKEN_PIPE
        return leaving.code if isinstance(leaving.code, int) else Exit.DONE
    except BaseException as error:  # noqa: BLE001  the last place before the shell
        code = failures.present(error, debug=debug)
        if isinstance(error, OSError):  # perhaps of stdout: what is left in it would fail once more
            _silence_stdout()
        return code
    return code if isinstance(code, int) else Exit.DONE


def _without_debug(arguments: Sequence[str]) -> tuple[list[str], bool]:
    """`--debug` is understood wherever people put it; after `--` it is an argument like any other."""
    words = list(arguments)
    end = words.index("--") if "--" in words else len(words)
    kept = [word for word in words[:end] if word != "--debug"]
    return kept + words[end:], len(kept) != end


def _accept_any_text() -> None:
    """Print a name that the terminal's encoding has no letters for with replacements, rather than not at all."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _silence_stdout() -> None:
    """The interpreter flushes stdout once more when it ends; there is nobody left to read it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
