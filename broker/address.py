"""Where RabbitMQ is, how patiently it is talked to, and how a failure to do so is told without its password."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pika
from dramatiq.errors import ConnectionClosed
from pika.adapters.utils.connection_workflow import AMQPConnectorException
from pika.exceptions import (
    AMQPConnectionError,
    AMQPError,
    AMQPHeartbeatTimeout,
    ConnectionBlockedTimeout,
    ProbableAccessDeniedError,
    ProbableAuthenticationError,
)
from pydantic import SecretStr

from base.errors import Misconfigured, Transient
from base.settings import Broker

#: What pika raises when a connection can't be opened or breaks; a name that does not resolve comes as it is.
LINK_ERRORS = (AMQPError, AMQPConnectorException, OSError)

#: The handshake is several round trips; opening a connection may take this many times one attempt to connect.
_HANDSHAKE = 3


class BrokerAway(Transient):
    """RabbitMQ can't be reached, or does not take what is sent to it now."""


class Disconnected(ConnectionClosed):
    """What Dramatiq's threads recover from by connecting anew; its text is a sentence they log."""

    def __init__(self, sentence: object) -> None:
        super().__init__(str(sentence))  # type: ignore[no-untyped-call]


@dataclass(frozen=True)
class Address:
    """RabbitMQ as this process reaches it. Its text names host, port and vhost, never user or password."""

    parameters: pika.URLParameters

    def __str__(self) -> str:
        return f"{self.parameters.host}:{self.parameters.port}, vhost {self.parameters.virtual_host}"

    def __repr__(self) -> str:
        return f"Address({self})"

    @property
    def vhost(self) -> str:
        """The virtual host's name."""
        return str(self.parameters.virtual_host)

    def connect(self) -> pika.BlockingConnection:
        """A fresh connection, in one attempt of bounded time.

        Raises:
            Misconfigured: RabbitMQ answers, but refuses user, password or vhost.
            BrokerAway: it does not answer.
        """
        try:
            return pika.BlockingConnection(self.parameters)
        except ProbableAuthenticationError:
            raise Misconfigured(
                f"RabbitMQ at {self} refused user or password. Correct them in LONGHAUL_BROKER_URL."
            ) from None
        except ProbableAccessDeniedError:
            raise Misconfigured(
                f"RabbitMQ at {self} has no such vhost for this user. Make it with `rabbitmqctl add_vhost` and "
                "`rabbitmqctl set_permissions`, or name another in LONGHAUL_BROKER_URL."
            ) from None
        except LINK_ERRORS as error:
            raise self.away(error) from None

    def away(self, error: BaseException) -> BrokerAway:
        """What broke a connection, in one sentence."""
        match error:
            case BrokerAway():
                return error
            case ConnectionBlockedTimeout():
                return BrokerAway(
                    f"RabbitMQ at {self} takes no messages now: it is short of memory or disk. "
                    "`rabbitmq-diagnostics check_local_alarms` says of which."
                )
            case AMQPHeartbeatTimeout():
                return BrokerAway(f"RabbitMQ at {self} fell silent: two heartbeats were missed.")
            case _:
                return BrokerAway(f"RabbitMQ at {self} does not answer: {_cause(error)}.")


def address(url: SecretStr, settings: Broker, purpose: str) -> Address:
    """Read LONGHAUL_BROKER_URL, and bound every wait on it.

    Args:
        url: amqp or amqps.
        settings: how long to wait for what.
        purpose: what the management UI calls the connection, such as `worker enrichment`.

    Raises:
        Misconfigured: the text is no AMQP URL. It is not repeated: it holds a password.
    """
    # What goes wrong is said in one sentence by whoever used the connection.
    logging.getLogger("pika").setLevel(logging.CRITICAL)
    text = url.get_secret_value()
    try:
        parameters = pika.URLParameters(text)
    except Exception:  # noqa: BLE001  pika lets through what urllib and int raise, with the text in it
        parameters = None
    if parameters is None or not text.startswith(("amqp://", "amqps://")):
        raise Misconfigured(
            "LONGHAUL_BROKER_URL can't be read: it must look like amqp://USER:PASSWORD@HOST:5672/VHOST, "
            "with special characters in any part percent-encoded."
        )
    wait = settings.connect_timeout.total_seconds()
    parameters.connection_attempts = 1
    parameters.socket_timeout = wait
    parameters.stack_timeout = _HANDSHAKE * wait
    parameters.heartbeat = round(settings.heartbeat.total_seconds())
    parameters.blocked_connection_timeout = settings.blocked_connection_timeout.total_seconds()
    parameters.client_properties = {"connection_name": f"longhaul {purpose}"}
    return Address(parameters)


def said_of_itself(connection: pika.BlockingConnection) -> Mapping[str, Any]:
    """What the server said of itself when the connection was opened; pika keeps it to itself."""
    return getattr(getattr(connection, "_impl", None), "server_properties", None) or {}


def _cause(error: BaseException) -> str:
    """The innermost thing in pika's pile of wrapped exceptions that says something."""
    inner = error.args[-1] if error.args else None
    wrapped = getattr(inner, "exception", inner)
    if isinstance(error, (AMQPConnectionError, AMQPConnectorException)) and isinstance(wrapped, BaseException):
        return _cause(wrapped)
    text = getattr(error, "reply_text", "") or getattr(error, "strerror", "") or str(error) or type(error).__name__
    return text.splitlines()[0].rstrip(".")
