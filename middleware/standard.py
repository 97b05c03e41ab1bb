"""The broker that `dramatiq actors` and `periodiq actors` find, with everything that surrounds a step there."""

from collections.abc import Callable

import dramatiq

from base import logs
from base.errors import Misconfigured
from base.settings import Settings
from broker.life import declare_actors
from broker.process import WorkerProcess
from broker.rabbit import RabbitBroker
from broker.tick import declare_tick
from middleware.boot import Boot
from middleware.stack import stack


def use_broker(settings: Settings, sweeps: Callable[[], None]) -> RabbitBroker:
    """Make Dramatiq's global broker from the settings, with an actor for every step that is declared by now.

    Nothing is connected yet.

    Raises:
        Misconfigured: the settings name no broker, or one whose address can't be read.
    """
    if settings.broker_url is None:
        raise Misconfigured(
            "A worker or scheduler of its own meets the others at RabbitMQ, but LONGHAUL_BROKER_URL is not set. Set "
            "it, or run everything in one process with `./longhaul up`."
        )
    logs.configure(settings.logging)
    process = WorkerProcess(settings)
    broker = RabbitBroker(
        settings.broker_url,
        settings.broker,
        middleware=[Boot(process), *stack(process)],
        purpose="worker",
        draining=process.draining,
        ack_timeout=process.ack_timeout,
    )
    declare_actors(process, broker)
    declare_tick(broker, sweeps)
    dramatiq.set_broker(broker)
    return broker
