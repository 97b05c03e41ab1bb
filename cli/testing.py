"""`test` and `check`: what they set up, what they run, and the one line that each step leaves.

Tests run in a process of their own: they change settings and logging, and may kill what they started.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from base.clock import monotonic
from base.terminal.example import command
from base.terminal.output import Output

_ROOT = Path(__file__).resolve().parent.parent
_PASS_ON = {"ignore_unknown_options": True, "allow_extra_args": True}

#: Where the system's servers are, which an ordinary user's PATH need not name.
_SERVERS = "/usr/sbin:/usr/local/sbin:/opt/homebrew/sbin"

_CHECKS: dict[str, tuple[str, ...]] = {
    "format": ("-m", "ruff", "format", "--check", "--quiet", "."),
    "lint": ("-m", "ruff", "check", "--quiet", "."),
    "types": ("-m", "mypy", "--no-error-summary"),
    "imports": ("-c", "from importlinter.cli import lint_imports_command as check; check()"),
}

All = Annotated[bool, typer.Option("--all", help="Demand everything: a service that can't be had is a failure.")]
NoInstall = Annotated[bool, typer.Option("--no-install", help="Install nothing on this machine, even as root.")]


def register(app: typer.Typer) -> None:
    """Mount `test` and `check`."""
    app.command("test", cls=command("./longhaul test -k launcher"), context_settings=_PASS_ON)(suite)
    app.command("check", cls=command("./longhaul check"), context_settings=_PASS_ON)(check)


def suite(context: typer.Context, everything: All = False, no_install: NoInstall = False) -> None:
    """Run the tests; other words and options go to pytest.

    `./longhaul test long` runs the full figures. Where RabbitMQ can't be had, its tests are left out, and the last
    line says so.
    """
    raise typer.Exit(_run_tests(context.args, everything=everything, may_install=not no_install))


def check(context: typer.Context, everything: All = False, no_install: NoInstall = False) -> None:
    """Check formatting, style, types and imports, then run the tests. All of it runs; any failure fails it."""
    failed = [name for name, words in _CHECKS.items() if not _check(name, words)]
    code = _run_tests(context.args, everything=everything, may_install=not no_install)
    if failed:
        Output().note(f"Failed: {', '.join(failed)}.")
    raise typer.Exit(code or (1 if failed else 0))


def _check(name: str, words: Sequence[str]) -> bool:
    """Run one check and leave one line; what it says is shown only if it fails."""
    began = monotonic()
    done = subprocess.run([sys.executable, *words], check=False, cwd=_ROOT, capture_output=True, text=True)
    output = Output()
    if done.returncode:
        output.say((done.stdout + done.stderr).strip())
    output.say(f"{name}: {'failed' if done.returncode else 'ok'} ({monotonic() - began:.1f} s)")
    sys.stdout.flush()  # the tests write to the same place
    return done.returncode == 0


def _run_tests(arguments: Sequence[str], *, everything: bool, may_install: bool) -> int:
    if may_install:
        install_rabbitmq()
    words = selected(arguments) + (["--all"] if everything else []) + (["--may-install"] if may_install else [])
    running = subprocess.Popen([sys.executable, "-m", "pytest", *words], cwd=_ROOT)
    while True:
        try:
            return running.wait()
        except KeyboardInterrupt:
            continue  # it got the same Ctrl-C, and ends with its own summary


def selected(arguments: Sequence[str]) -> list[str]:
    """The words for pytest: the full figures only for who asks for them, by `long` or by a selection of their own."""
    if arguments[:1] == ["long"]:
        return ["-m", "long", *arguments[1:]]
    own = any(word.startswith("-m") for word in arguments)
    return list(arguments) if own else ["-m", "not long", *arguments]


def install_rabbitmq() -> None:
    """As root on Debian or Ubuntu, get the server that tests start nodes of. Elsewhere its owner decides."""
    apt = shutil.which("apt-get")
    there = shutil.which("rabbitmq-server") or shutil.which("rabbitmq-server", path=_SERVERS)
    if there or apt is None or os.geteuid() != 0:
        return
    Output().note("Installing rabbitmq-server by apt-get, once, for the tests (--no-install forbids it) ...")
    install = [apt, "install", "--yes", "-qq", "--no-install-recommends", "rabbitmq-server"]
    quietly = ["env", "DEBIAN_FRONTEND=noninteractive"]
    for words in ([apt, "update", "-qq"], [*quietly, *install]):
        done = subprocess.run(words, check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if done.returncode:  # the tests that need it say what is missing
            Output().note(done.stderr.strip())
