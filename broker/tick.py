"""The tick: the one message that is not a wake-up. periodiq sends it each minute; what is due starts from it."""

from collections.abc import Callable

from dramatiq import Broker, actor
from periodiq import cron

#: A lane of its own: behind a job of an hour it would be too late.
LANE = "upkeep"
TASK = "upkeep.tick"


def declare_tick(broker: Broker, sweeps: Callable[[], None]) -> None:
    """Give a broker the actor that the tick calls."""
    actor(actor_name=TASK, queue_name=LANE, broker=broker, periodic=cron("* * * * *"))(sweeps)
