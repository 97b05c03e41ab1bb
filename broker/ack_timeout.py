"""The broker's ack timeout, as far as it is known, and how long that lets this process keep a message.

The setting says what it should be. What it is stands in RabbitMQ's configuration or in a policy, and no client is
told. So it is read by rabbitmqctl where that runs, else learned from the first message that RabbitMQ takes back, and
noted in the ledger for those who start later. The smaller one counts.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from base import logs
from base.clock import now
from base.errors import Misconfigured
from base.settings import Broker, Settings
from broker.node import read_ack_timeout
from ledger import observing
from ledger.alerting import raise_alert
from schema.engine import Database, DatabaseAway

_OBSERVATION = "broker.ack_timeout_ms"

_MILLISECOND = timedelta(milliseconds=1)

log = logs.get(__name__)


@dataclass(frozen=True)
class Known:
    """What RabbitMQ's was when it was last seen."""

    value: timedelta
    seen_at: datetime


class AckTimeout:
    """What counts in this process.

    Attributes:
        on_learned: called, in the thread that learned it, when RabbitMQ took messages back: with its value and the
            sentence about it.
    """

    def __init__(self, settings: Broker, known: timedelta | None = None) -> None:
        self.on_learned: Callable[[timedelta, str], None] = lambda _value, _sentence: None
        self._settings = settings
        self._known = known

    @property
    def value(self) -> timedelta:
        """The setting, or what is known where that is less."""
        return smaller(self._settings.ack_timeout, self._known)

    @property
    def keep_for(self) -> timedelta:
        """How long a message may be kept before its run hands over.

        One too short for the margin was refused at the start, or is learned later: then half of it, so that each
        claim still finishes a pass.
        """
        left = self.value - self._settings.ack_margin
        return left if left > timedelta(0) else self.value / 2

    def know(self, known: Known) -> None:
        """This is what was seen."""
        self._known = known.value

    def learn(self, value: timedelta, sentence: str) -> None:
        """RabbitMQ took messages back and named its value."""
        self._known = value
        self.on_learned(value, sentence)


def smaller(setting: timedelta, known: timedelta | None) -> timedelta:
    """The one that RabbitMQ or the run reaches first."""
    return setting if known is None else min(setting, known)


def find(settings: Settings, database: Database, lanes: Collection[str]) -> Known | None:
    """What RabbitMQ says by rabbitmqctl, noted; where it can't be asked, what was noted last.

    Raises:
        DatabaseAway: nothing can be noted or asked now.
    """
    read = read_ack_timeout(settings, lanes)
    if read is not None:
        note(database, read)
        return Known(read, now())
    noted = observing.last(database, _OBSERVATION)
    return Known(noted.value * _MILLISECOND, noted.noted_at) if noted else None


def note(database: Database, value: timedelta) -> None:
    """Keep it for those who start later.

    Raises:
        DatabaseAway: it can't be noted now.
    """
    observing.note(database, _OBSERVATION, value // _MILLISECOND)


def remember(database: Database, value: timedelta, sentence: str) -> None:
    """Note what was learned, and have a person see it. It stays in the log where the database is away."""
    try:
        note(database, value)
        raise_alert(database, source="broker", cause="messages_taken_back", severity="warning", text=sentence)
    except DatabaseAway as error:
        log.warning("the broker's ack timeout was learned and not noted", error=str(error))


def refuse_short(settings: Settings, known: Known | None) -> None:
    """RabbitMQ's own value has to leave a run the time to begin a pass before it hands over.

    The settings promise it a whole pass. Less only costs handovers, each of them in time: the margin holds the slowest
    pass. So a RabbitMQ as it was installed (30 min) is worked with, and complained about.

    Raises:
        Misconfigured: it does not.
    """
    broker = settings.broker
    if known is not None and known.value <= broker.ack_margin + broker.ack_tick:
        least = settings.least_ack_timeout
        raise Misconfigured(
            f"{seen(known)}, but the slowest pass, the margin and its tick need {least.total_seconds():g} s. Raise "
            "RabbitMQ's consumer_timeout to LONGHAUL_BROKER__ACK_TIMEOUT; once that is done where rabbitmqctl can't "
            "tell, say so: `./longhaul doctor --ack-timeout-raised`."
        )


def seen(known: Known) -> str:
    """What was seen, as the beginning of a sentence."""
    return f"RabbitMQ takes a message back after {known.value.total_seconds():g} s (seen {known.seen_at:%F %R} UTC)"


def differs(settings: Settings, known: Known) -> str | None:
    """One sentence, where RabbitMQ's is less than the setting says."""
    setting = settings.broker.ack_timeout
    if known.value >= setting:
        return None
    return (
        f"{seen(known)}, LONGHAUL_BROKER__ACK_TIMEOUT says {setting.total_seconds():g} s: set both alike. Until then "
        "runs hand over sooner."
    )
