"""Looks at a RabbitMQ for `doctor`: is it there, which version, do its queues fit. Makes nothing."""

from collections.abc import Collection
from dataclasses import dataclass

import pika
from pika.exceptions import ChannelClosedByBroker

from base.errors import Misconfigured
from base.settings import Settings
from broker import queues
from broker.address import LINK_ERRORS, Address, address, said_of_itself

_NOT_FOUND = 404


@dataclass(frozen=True)
class BrokerState:
    """What a RabbitMQ said of itself. `differs`: one sentence for each queue that is made otherwise than we declare."""

    version: str
    differs: tuple[str, ...]


def probe(settings: Settings, lanes: Collection[str]) -> BrokerState:
    """Connect once, and compare the queues that exist with the arguments this version declares.

    Raises:
        Misconfigured: there is no address, or RabbitMQ refuses user, password or vhost.
        BrokerAway: it does not answer.
    """
    if settings.broker_url is None:
        raise Misconfigured("LONGHAUL_BROKER_URL is not set.")
    where = address(settings.broker_url, settings.broker, "doctor")
    connection = where.connect()
    try:
        found = (_differences(connection, where, settings, lane) for lane in sorted(lanes))
        return BrokerState(_version(connection), tuple(sentence for lane in found for sentence in lane))
    except LINK_ERRORS as error:
        raise where.away(error) from None
    finally:
        if connection.is_open:
            connection.close()


def _differences(connection: pika.BlockingConnection, where: Address, settings: Settings, lane: str) -> list[str]:
    sentences = []
    for name, arguments in queues.arguments(lane, settings.broker).items():
        try:
            # RabbitMQ closes the channel of whoever asks for what is not there, or is otherwise.
            channel = connection.channel()
            channel.queue_declare(name, passive=True)
            channel.queue_declare(name, durable=True, arguments=arguments)
            channel.close()
        except ChannelClosedByBroker as error:
            if error.reply_code != _NOT_FOUND:
                sentences.append(str(queues.refusal(error, where, settings.broker)))
    return sentences


def _version(connection: pika.BlockingConnection) -> str:
    return str(said_of_itself(connection).get("version", "of unknown version"))
