"""The queues of a lane: how they are declared, and what RabbitMQ means when it refuses.

A lane has its queue and a bounded one for what could not be read. There are no delay queues: time is the ledger's.
Arguments never change under a name; RabbitMQ answers 406 to anybody who declares a queue otherwise than it is.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any

from pika.adapters.blocking_connection import BlockingChannel
from pika.exceptions import ChannelClosedByBroker

from base.errors import LonghaulError, Misconfigured
from base.settings import Broker
from broker.address import LINK_ERRORS, Address, BrokerAway

#: A message nobody could read is kept this long for whoever looks into it.
_DEAD_LETTER_DAYS = 7

_PRECONDITION_FAILED = 406
_DIFFERS = re.compile(
    r"inequivalent arg '(?P<argument>[^']+)' for queue '(?P<queue>[^']+)'.*?: "
    r"received (?P<ours>.+?) but current is (?P<theirs>.+)"
)
_VALUE = re.compile(r"(?:the value )?'(?P<value>[^']*)'(?: of type '[^']*')?")
_ACK_TIMEOUT = re.compile(r"delivery acknowledgement on channel \d+ timed out. Timeout value used: (?P<ms>\d+) ms")

_SETTING = {
    "x-queue-type": "LONGHAUL_BROKER__QUEUE_TYPE",
    "x-max-length": "LONGHAUL_BROKER__DEAD_LETTER_LIMIT",
}


class QueuesDiffer(Misconfigured):
    """A queue exists with other arguments than this program declares."""


class MessagesTakenBack(BrokerAway):
    """A message stayed unacknowledged for longer than the broker's ack timeout, `after`."""

    def __init__(self, after: timedelta, settings: Broker) -> None:
        self.after = after
        super().__init__(
            "RabbitMQ took this worker's messages back: one stayed unacknowledged for longer than its consumer_timeout "
            f"of {after.total_seconds():g} s, while LONGHAUL_BROKER__ACK_TIMEOUT says "
            f"{settings.ack_timeout.total_seconds():g} s. Set both alike. The jobs in hand go on."
        )


def dead_letters(lane: str) -> str:
    """The queue that takes what a lane's workers could not read."""
    return f"{lane}.XQ"


def arguments(lane: str, settings: Broker) -> dict[str, dict[str, Any]]:
    """The lane's queues, each with the arguments it is declared with."""
    kind = {"x-queue-type": settings.queue_type}
    return {
        dead_letters(lane): kind
        | {
            "x-max-length": settings.dead_letter_limit,
            "x-message-ttl": round(timedelta(days=_DEAD_LETTER_DAYS).total_seconds() * 1000),
        },
        lane: kind | {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": dead_letters(lane)},
    }


def declare(channel: BlockingChannel, lane: str, settings: Broker) -> int:
    """Make the lane's queues where they are missing; the answer is how many messages are ready in it."""
    ready = 0
    for name, given in arguments(lane, settings).items():
        ready = channel.queue_declare(queue=name, durable=True, arguments=given).method.message_count
    return ready


@contextmanager
def errand(address: Address, settings: Broker) -> Iterator[BlockingChannel]:
    """A channel on a connection of its own, for something short.

    Raises:
        LonghaulError: it failed; one sentence says why.
    """
    connection = address.connect()
    try:
        yield connection.channel()
    except LINK_ERRORS as error:
        raise refusal(error, address, settings) from None
    finally:
        with suppress(*LINK_ERRORS):
            connection.close()


def refusal(error: BaseException, address: Address, settings: Broker) -> LonghaulError:
    """What RabbitMQ or the network meant, in one sentence with what to do."""
    if not isinstance(error, ChannelClosedByBroker):
        return address.away(error)
    text = str(error.reply_text)
    if differs := _DIFFERS.search(text):
        return QueuesDiffer(_difference(differs, address))
    if timed_out := _ACK_TIMEOUT.search(text):
        return MessagesTakenBack(timedelta(milliseconds=int(timed_out["ms"])), settings)
    if error.reply_code == _PRECONDITION_FAILED:
        return QueuesDiffer(f"RabbitMQ at {address} does not accept a queue as this program declares it: {text}.")
    return BrokerAway(f"RabbitMQ at {address} closed the channel: {text}.")


def _difference(found: re.Match[str], address: Address) -> str:
    queue, argument = found["queue"], found["argument"]
    ours, theirs = (_VALUE.sub(lambda value: value["value"] or "empty", found[whose]) for whose in ("ours", "theirs"))
    setting = f" or set {_SETTING[argument]} to what it is there" if argument in _SETTING else ""
    return (
        f"Queue `{queue}` on RabbitMQ at {address} was made with other arguments: {argument} is {theirs} there, "
        f"{ours} here. Stop its workers and delete it with `rabbitmqctl -p {address.vhost} delete_queue {queue}` "
        f"(it holds only wake-ups, which are sent anew){setting}, then start again."
    )
