"""The broker's ack timeout: read where it can be, learned where it can't, and counted before the setting."""

import shlex
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pika
import pytest
from pydantic import SecretStr

from base.clock import now
from base.errors import Misconfigured
from base.settings import Broker as BrokerSettings
from base.settings import Settings
from broker import ack_timeout
from broker.ack_timeout import AckTimeout, Known
from ledger.alerting import open_alerts
from middleware.boot import refuse_long_steps
from schema.engine import Database
from tests.broker import steps_under_test  # noqa: F401  declares the steps
from tests.broker.jobs_under_test import Jobs
from tests.broker.processes import WorkerUnderTest
from tests.broker.steps_under_test import LANE, InFolder, Nothing
from tests.broker.until import until
from tests.services.rabbit import Node
from tests.services.rabbit_kinds import FOUR_QUORUM, ON_EVERY_KIND, OWN_CLASSIC, on

Start = Callable[..., WorkerUnderTest]
StartNode = Callable[..., Node]

HOURS = timedelta(hours=4)


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


def ctl_of(node: Node) -> str:
    """A command that administers the node from any environment."""
    env = node.server.env or {}
    return shlex.join(["env", *(f"{name}={value}" for name, value in env.items()), *node.server.ctl])


def at(node: Node, ctl: str | None = None) -> Settings:
    return Settings(broker_url=SecretStr(node.url), broker=BrokerSettings(rabbitmqctl=ctl or ctl_of(node)))


@pytest.mark.parametrize(
    ("known", "counts", "keeps"),
    [
        (None, 14_400, 13_200),
        (20_000, 14_400, 13_200),
        (1800, 1800, 600),
        (900, 900, 450),
    ],
)
def test_the_smaller_of_setting_and_known_counts(known: float | None, counts: float, keeps: float) -> None:
    found = AckTimeout(BrokerSettings(), None if known is None else seconds(known))
    assert found.value == seconds(counts)
    assert found.keep_for == seconds(keeps)


def test_a_broker_as_it_was_installed_is_worked_with_and_complained_about() -> None:
    known = Known(seconds(1800), now())
    ack_timeout.refuse_short(Settings(), known)
    sentence = ack_timeout.differs(Settings(), known)
    assert sentence is not None
    assert "after 1800 s" in sentence
    assert "says 14400 s: set both alike" in sentence
    assert ack_timeout.differs(Settings(), Known(HOURS, now())) is None


def test_one_that_leaves_no_run_the_time_for_a_pass_is_refused() -> None:
    ack_timeout.refuse_short(Settings(), None)
    with pytest.raises(Misconfigured, match=r"after 900 s .* need 2400 s"):
        ack_timeout.refuse_short(Settings(broker=BrokerSettings()), Known(seconds(900), now()))


def test_a_step_that_can_not_hand_over_is_measured_by_what_counts() -> None:
    settings = Settings()
    refuse_long_steps(settings, seconds(1201), [LANE])
    with pytest.raises(Misconfigured, match=r"The step brokertest\.slow may run for 0\.2 s"):
        refuse_long_steps(settings, seconds(1200), [LANE])


@on([OWN_CLASSIC, FOUR_QUORUM])
def test_it_is_read_from_the_node_that_the_url_leads_to(rabbit_node: StartNode, database: Database) -> None:
    node = rabbit_node("consumer_timeout = 5400000")
    found = ack_timeout.find(at(node), database, [LANE])
    assert found is not None
    assert found.value == seconds(5400)

    # Those who can't ask know it from the ledger
    noted = ack_timeout.find(at(node, "none"), database, [LANE])
    assert noted is not None
    assert noted.value == seconds(5400)
    absent = ack_timeout.find(at(node, "no-such-rabbitmqctl"), database, [LANE])
    assert absent == noted

    # And another node's answer is nobody's
    node.server.control("eval", 'rabbit_nodes:set_cluster_name(<<"another">>, <<"test">>).')
    elsewhere = rabbit_node("consumer_timeout = 7000")
    assert ack_timeout.find(at(node, ctl_of(elsewhere)), database, [LANE]) == noted


@on([FOUR_QUORUM])
def test_a_policy_counts_before_the_configuration(rabbit_node: StartNode, database: Database) -> None:
    node = rabbit_node("consumer_timeout = 5400000")
    settings = at(node)
    with pika.BlockingConnection(pika.URLParameters(node.url)) as connection:
        connection.channel().queue_declare(LANE, durable=True, arguments={"x-queue-type": "quorum"})
    node.server.control("set_policy", "short", "^test$", '{"consumer-timeout": 3600000}', "--apply-to", "queues")
    until(lambda: (ack_timeout.find(settings, database, [LANE]) or Known(HOURS, now())).value == seconds(3600))


@ON_EVERY_KIND
def test_it_is_learned_from_the_first_message_taken_back(
    rabbit_node: StartNode, start: Start, jobs: Jobs, database: Database, tmp_path: Path
) -> None:
    # Given a worker that can't ask, and believes its setting
    node = rabbit_node("consumer_timeout = 3000", advanced="{rabbit, [{channel_tick_interval, 1000}]}")
    worker = start(LONGHAUL_BROKER_URL=node.url).ready()
    request = InFolder(folder=tmp_path)
    job = jobs.insert("brokertest.hold", request)

    # When RabbitMQ takes its message back
    until(lambda: open_alerts(database), 30)

    # Then a person can see it, the job goes on, and the next message is kept half as long
    (alert,) = open_alerts(database)
    assert (alert.source, alert.cause) == ("broker", "messages_taken_back")
    assert "consumer_timeout of 3 s, while LONGHAUL_BROKER__ACK_TIMEOUT says 14400 s" in alert.text
    later = jobs.insert("brokertest.noop", Nothing())
    until(lambda: jobs.state(later) == "done")
    request.mark("go")
    until(lambda: jobs.state(job) == "done")
    assert jobs.row(job).fence == 1
    assert (tmp_path / "job.started").read_text().count("\n") == 1
    worker.terminate()
    assert worker.wait() == 0

    # And who starts now is refused, until somebody says that it was raised
    refused = start(LONGHAUL_BROKER_URL=node.url)
    assert refused.wait() == 1
    assert "RabbitMQ takes a message back after 3 s (seen " in refused.said
    assert "Traceback" not in refused.said
    ack_timeout.note(database, HOURS)
    start(LONGHAUL_BROKER_URL=node.url).ready()
