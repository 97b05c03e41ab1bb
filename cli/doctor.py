"""`doctor`: what is configured, reachable, too old or contradictory. Leaves with 1 when anything is wrong."""

from contextlib import closing
from typing import Annotated

import typer

from base.errors import Misconfigured
from base.settings import Settings, load
from base.terminal.example import command
from base.terminal.exits import Exit
from base.terminal.output import STATE_STYLES, Column, Json, Output
from cli.checks import Finding, State, examine
from cli.configured import configured

Raised = Annotated[
    bool,
    typer.Option(
        "--ack-timeout-raised", help="RabbitMQ's consumer_timeout is LONGHAUL_BROKER__ACK_TIMEOUT now: note that."
    ),
]


def register(app: typer.Typer) -> None:
    """Mount `doctor`."""
    app.command("doctor", cls=command("./longhaul doctor"))(doctor)


def doctor(as_json: Json = False, raised: Raised = False) -> None:
    """Say what is set, reachable, too old, wrong.

    Leaves with 1 when anything is wrong. Changes nothing, except that without LONGHAUL_DATABASE_URL the embedded
    database is started and stopped, and that RabbitMQ's ack timeout is noted for the workers where it can be read.
    """
    output = Output(as_json=as_json)
    try:
        settings = load()
    except Misconfigured as error:
        _report(output, [], [Finding("settings", State.WRONG, str(error))])
        raise typer.Exit(Exit.FAILED) from None
    if raised:
        _note_as_raised(settings)
    findings = [_settings(settings), *examine(settings)]
    _report(output, configured(settings), findings)
    if any(finding.state is State.WRONG for finding in findings):
        raise typer.Exit(Exit.FAILED)


def _note_as_raised(settings: Settings) -> None:
    """What was learned when RabbitMQ took messages back is no longer so."""
    from broker.ack_timeout import note  # noqa: PLC0415
    from schema.opening import open_database  # noqa: PLC0415

    with closing(open_database(settings)) as database:
        note(database, settings.broker.ack_timeout)


def _settings(settings: Settings) -> Finding:
    number = len(configured(settings))
    words = "Nothing is set, everything has its default." if number == 0 else f"{number} set, without contradiction."
    return Finding("settings", State.OK, words)


def _report(output: Output, set_values: list[tuple[str, str]], findings: list[Finding]) -> None:
    wrong = [finding for finding in findings if finding.state is State.WRONG]
    output.result({"ok": not wrong, "findings": findings, "set": dict(set_values)})
    if set_values:
        output.facts(set_values)
        output.say()
    output.table(
        (Column("what"), Column("state", styles=STATE_STYLES), Column("found", fold=True)),
        [(finding.what, finding.state, finding.words) for finding in findings],
    )
