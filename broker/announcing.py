"""Wake-ups and aborts from a process that works for no lane: a command, the API."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from base.settings import Settings
from broker import signals, wake
from broker.address import address
from broker.postgres_signals import PostgresCarrier, SignalWakes
from broker.rabbit_signals import RabbitCarrier
from broker.rabbit_wakes import RabbitWakes
from broker.signals import Carrier
from broker.wakes import Wakes
from schema.engine import Database


@contextmanager
def from_outside(settings: Settings, database: Database) -> Iterator[None]:
    """Announce at once while the block runs; what can't be sent then, relay and beat find out by themselves."""
    carrier, wakes = _ways(settings, database)
    waker = wake.Waker(wakes)
    with ExitStack() as ending:
        ending.callback(carrier.close)
        ending.callback(signals.use, None)
        ending.callback(waker.close)
        ending.callback(wake.use, None)
        signals.use(carrier)
        wake.use(waker)
        yield


def _ways(settings: Settings, database: Database) -> tuple[Carrier, Wakes]:
    if settings.broker_url is None:
        return PostgresCarrier(database), SignalWakes()
    there = address(settings.broker_url, settings.broker, "command")
    return RabbitCarrier(there), RabbitWakes(there, settings.broker)
