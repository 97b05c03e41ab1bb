"""What `doctor` looks at, one function a thing; each says what it found in a sentence and never raises."""

import asyncio
import platform
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

import actors
from base.errors import LonghaulError
from base.settings import Settings
from base.terminal.words import amount, local
from cli.configured import without_password

if TYPE_CHECKING:
    from clients.llm.probe import Probe
    from ledger.alerting import Alert

#: The oldest the queues' arguments and policies were tried on.
_OLDEST_RABBITMQ = (3, 10)

#: A worker that has not beaten for this long is not counted as alive.
_ALIVE_WITHIN = timedelta(minutes=3)


class State(StrEnum):
    """What a look came to. Only `wrong` makes doctor fail."""

    OK = "ok"
    OFF = "off"
    WARNING = "warning"
    WRONG = "wrong"


@dataclass(frozen=True)
class Finding:
    """One thing looked at."""

    what: str
    state: State
    words: str


def examine(settings: Settings) -> Iterator[Finding]:
    """Look at everything there is, one finding after the other as they come."""
    from cli.sums import sums  # noqa: PLC0415  it answers with findings

    yield Finding("python", State.OK, f"{platform.python_version()} on {platform.system()} {platform.machine()}.")
    for look in (_database, _leftovers, _broker, sums, _model):
        yield from _guarded(look, settings)


def _guarded(look: Callable[[Settings], Iterator[Finding]], settings: Settings) -> Iterator[Finding]:
    """A look that fails in a way it didn't foresee is a finding too, and the next look goes on."""
    name = look.__name__.removeprefix("_")
    try:
        yield from look(settings)
    except LonghaulError as error:
        yield Finding(name, State.WRONG, str(error))
    except Exception as error:  # noqa: BLE001  doctor is what people run when something is broken
        first = str(error).strip().split("\n", 1)[0]
        yield Finding(name, State.WRONG, f"Looking at it failed: {type(error).__name__}: {first}.")


def _database(settings: Settings) -> Iterator[Finding]:
    from schema.opening import open_database  # noqa: PLC0415
    from schema.probe import probe  # noqa: PLC0415

    where = (
        without_password(settings.database_url.get_secret_value())
        if settings.database_url
        else f"embedded, in {settings.home}"
    )
    with closing(open_database(settings)) as database:
        server = probe(database)
        yield Finding("database", State.OK, f"PostgreSQL {server.version}, {where}.")
        if server.mismatch:
            yield Finding("schema", State.WRONG, server.mismatch)
        elif server.revision:
            yield Finding("schema", State.OK, f"At {server.revision}, the newest revision.")
        for complaint in server.complaints:
            yield Finding("database", State.WRONG, complaint)
        if server.revision and not server.mismatch:
            from ledger.alerting import open_alerts  # noqa: PLC0415

            yield from map(_alert, open_alerts(database))
        if settings.broker_url is not None and server.revision and not server.mismatch:
            from ledger.workers import lanes_alive  # noqa: PLC0415

            for lane in actors.lanes():
                yield _workers(lane, lanes_alive(database, lane, _ALIVE_WITHIN))


def _alert(alert: "Alert") -> Finding:
    state = State.WRONG if alert.severity == "critical" else State.WARNING
    return Finding("alert", state, f"{amount(alert.times, 'time')} since {local(alert.first_at)}: {alert.text}")


def _leftovers(_settings: Settings) -> Iterator[Finding]:
    from schema.embedded.leftovers import found  # noqa: PLC0415
    from schema.embedded.place import SYSTEM_FOLDER  # noqa: PLC0415

    for left in found(SYSTEM_FOLDER):
        yield Finding(
            "leftovers",
            State.WARNING,
            f"{left.folder} ({left.size / 1_000_000:.0f} MB) is the embedded database of {left.home}, which is gone or "
            "was moved. If it was moved, run doctor there; if nobody wants its data: "
            f"rm -r {left.folder} {left.folder}.home",
        )


def _workers(lane: str, number: int) -> Finding:
    if number:
        return Finding("workers", State.OK, f"Lane {lane}: {amount(number, 'worker')}.")
    return Finding(
        "workers", State.WARNING, f"Lane {lane}: no worker. Start one with `./longhaul worker --lane {lane}`."
    )


def _broker(settings: Settings) -> Iterator[Finding]:
    if settings.broker_url is None:
        yield Finding("broker", State.OFF, "No LONGHAUL_BROKER_URL: jobs run in the process that asks for them.")
        return
    from broker.probe import probe  # noqa: PLC0415

    broker = probe(settings, actors.lanes())
    where = without_password(settings.broker_url.get_secret_value())
    yield Finding("broker", State.OK, f"RabbitMQ {broker.version}, {where}.")
    if _version(broker.version) < _OLDEST_RABBITMQ:
        yield Finding(
            "broker", State.WRONG, f"RabbitMQ {broker.version} is too old: 3.10 is the oldest that works. Upgrade it."
        )
    if broker.differs:
        for sentence in broker.differs:
            yield Finding("queues", State.WRONG, sentence)
    else:
        yield Finding("queues", State.OK, "The lanes' queues are declared as this version declares them, or not yet.")


def _version(text: str) -> tuple[int, ...]:
    numbers = [part for part in text.split(".")[:2] if part.isdigit()]
    return tuple(int(number) for number in numbers)


def _model(settings: Settings) -> Iterator[Finding]:
    if settings.llm.base_url is None:
        yield Finding(
            "model",
            State.OFF,
            "No language model: names from identifiers, meanings from your dictionary. "
            "Set LONGHAUL_LLM__BASE_URL and LONGHAUL_LLM__MODEL.",
        )
        return
    answer = asyncio.run(_ask(settings))
    if answer.state == "answers":
        yield Finding("model", State.OK, answer.sentence)
    else:
        yield Finding("model", State.WRONG, answer.sentence)


async def _ask(settings: Settings) -> "Probe":
    from clients.llm import from_settings  # noqa: PLC0415
    from clients.llm.probe import probe  # noqa: PLC0415

    model = from_settings(settings)
    try:
        return await probe(model)
    finally:
        await model.close()
