"""How a lane's queues are declared, and what RabbitMQ's refusals come out as."""

import re

import pika
import pytest
from pydantic import SecretStr

from base.errors import Misconfigured
from base.settings import Broker as BrokerSettings
from base.settings import Settings
from broker import queues
from broker.address import Address, BrokerAway, address
from broker.probe import probe
from tests.broker.lane_under_test import Lane
from tests.broker.steps_under_test import LANE

SETTINGS = BrokerSettings()


@pytest.fixture
def where() -> Address:
    return address(SecretStr("amqp://user:s3cret@rabbit.example:5672/here"), SETTINGS, "test")


@pytest.mark.parametrize("queue_type", ["classic", "quorum"])
def test_a_lane_has_its_queue_and_bounded_dead_letters(lane: Lane, queue_type: str) -> None:
    settings = BrokerSettings.model_validate({"queue_type": queue_type, "dead_letter_limit": 7})
    where = address(SecretStr(lane.url), settings, "test")

    # Twice: what is there already is accepted as it is
    for _ in range(2):
        with queues.errand(where, settings) as channel:
            assert queues.declare(channel, LANE, settings) == 0

    assert set(queues.arguments(LANE, settings)) == {LANE, "test.XQ"}
    assert queues.arguments(LANE, settings)["test.XQ"]["x-max-length"] == 7
    assert lane.ready("test.XQ") == 0
    lane.delete()


_OTHER_KIND = (
    "PRECONDITION_FAILED - inequivalent arg 'x-queue-type' for queue 'test' in vhost 'here': received the value "
    "'classic' of type 'longstr' but current is the value 'quorum' of type 'longstr'"
)
_INVALID = "PRECONDITION_FAILED - invalid arg 'x-max-length' for queue 'test' in vhost 'here': {negative}"
_TIMED_OUT = (
    "PRECONDITION_FAILED - delivery acknowledgement on channel 1 timed out. Timeout value used: 1800000 ms. "
    "This timeout value can be configured, see consumers doc guide to learn more"
)


@pytest.mark.parametrize(
    ("code", "text", "sentences"),
    [
        (
            406,
            _OTHER_KIND,
            [
                "x-queue-type is quorum there, classic here.",
                "`rabbitmqctl -p here delete_queue test`",
                "set LONGHAUL_BROKER__QUEUE_TYPE to what it is there",
            ],
        ),
        (406, _INVALID, ["does not accept a queue as this program declares it"]),
        (
            406,
            _TIMED_OUT,
            ["consumer_timeout of 1800 s, while LONGHAUL_BROKER__ACK_TIMEOUT says 14400 s. Set both alike"],
        ),
        (
            403,
            "ACCESS_REFUSED - access to queue 'test' in vhost 'here' refused",
            ["closed the channel: ACCESS_REFUSED"],
        ),
    ],
)
def test_a_refusal_is_one_sentence_that_says_what_to_do(
    where: Address, code: int, text: str, sentences: list[str]
) -> None:
    said = str(queues.refusal(pika.exceptions.ChannelClosedByBroker(code, text), where, SETTINGS))

    for sentence in sentences:
        assert sentence in said
    assert "\n" not in said
    assert "s3cret" not in said


@pytest.mark.parametrize(
    ("url", "kind", "sentence"),
    [
        ("amqp://user:s3cret@127.0.0.1:1/x", BrokerAway, "does not answer: Connection refused."),
        ("amqp://user:s3cret@nowhere.invalid/x", BrokerAway, "does not answer: "),
        ("amqp://user:s3/cret@127.0.0.1/x", Misconfigured, "LONGHAUL_BROKER_URL can't be read"),
        ("s3cret", Misconfigured, "LONGHAUL_BROKER_URL can't be read"),
        ("http://user:s3cret@127.0.0.1", Misconfigured, "LONGHAUL_BROKER_URL can't be read"),
    ],
)
def test_an_address_that_fails_is_told_without_its_password(url: str, kind: type[Exception], sentence: str) -> None:
    with pytest.raises(kind) as told:
        address(SecretStr(url), SETTINGS, "test").connect()

    assert sentence in str(told.value)
    assert "cret" not in str(told.value)
    assert told.value.__cause__ is None


def test_a_wrong_password_and_an_absent_vhost_are_told_apart(rabbit: str) -> None:
    wrong = rabbit.replace("guest:guest", "guest:s3cret")
    with pytest.raises(Misconfigured, match="refused user or password"):
        address(SecretStr(wrong), SETTINGS, "test").connect()
    with pytest.raises(Misconfigured, match="no such vhost"):
        address(SecretStr(f"{rabbit}-absent"), SETTINGS, "test").connect()


def test_an_address_and_its_parameters_show_no_password(where: Address) -> None:
    assert "s3cret" not in f"{where} {where!r} {where.parameters}"


def test_the_probe_finds_what_differs_and_makes_nothing(lane: Lane) -> None:
    settings = Settings(broker_url=SecretStr(lane.url))

    state = probe(settings, [LANE])
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", state.version)
    assert state.differs == ()
    with pytest.raises(pika.exceptions.ChannelClosedByBroker, match="no queue"):
        lane.ready()

    lane.replace_by_another_kind()
    (sentence,) = probe(settings, [LANE]).differs
    assert "Queue `test`" in sentence
