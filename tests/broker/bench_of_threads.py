"""Dramatiq's own threads over a real RabbitMQ, with one actor whose runs are let go one by one."""

import threading

import dramatiq
import pika
from dramatiq import Worker
from pika.adapters.blocking_connection import BlockingChannel
from pydantic import SecretStr

from base.settings import Broker as BrokerSettings
from base.settings import Settings
from broker.consumer import SafeConsumer
from broker.process import WorkerProcess
from broker.rabbit import RabbitBroker
from middleware.drain import Drain
from tests.broker.until import until

LANE = "test"
TASK = "brokertest.hold"


class Bench:
    """A broker, its workers, and what its one actor has done."""

    def __init__(self, url: str, settings: BrokerSettings | None = None) -> None:
        self.runs: list[threading.Event] = []
        process = WorkerProcess(Settings())
        self.broker = RabbitBroker(
            SecretStr(url),
            settings or BrokerSettings(),
            middleware=[Drain(process)],
            purpose="test",
            draining=process.draining,
        )
        dramatiq.actor(actor_name=TASK, queue_name=LANE, broker=self.broker)(self._hold)
        self._connection = pika.BlockingConnection(pika.URLParameters(url))
        self._workers: list[Worker] = []

    @property
    def started(self) -> int:
        """How many runs have begun."""
        return len(self.runs)

    def let_go(self, run: int) -> None:
        """Let a run end, counted from 0."""
        self.runs[run].set()

    def send(self, count: int = 1) -> None:
        wakes = self.broker.wakes()
        wakes.send(LANE, {TASK: count})
        wakes.close()

    def send_raw(self, body: bytes) -> None:
        self.channel().basic_publish("", LANE, body)

    def channel(self) -> BlockingChannel:
        return self._connection.channel()

    def ready(self, queue: str = LANE) -> int:
        return int(self.channel().queue_declare(queue, passive=True).method.message_count)

    def worker(self, threads: int, prefetch: int | None = None) -> Worker:
        worker = Worker(self.broker, queues={LANE}, worker_threads=threads, worker_timeout=100)
        worker.queue_prefetch = prefetch or threads
        self._workers.append(worker)
        worker.start()
        return worker

    def work(self, threads: int, prefetch: int | None = None) -> Worker:
        """A worker that consumes by now."""
        worker = self.worker(threads, prefetch)
        until(lambda: worker.consumers[LANE].consumer)
        return worker

    def reset_channel(self, worker: Worker) -> None:
        """Have RabbitMQ close the consumer's channel, as it does after its ack timeout: by 406."""
        before = consumer_of(worker)
        before._soon(lambda: before._channel.basic_ack(999_999))
        until(lambda: worker.consumers[LANE].consumer is not before)

    def drop_connection(self, worker: Worker) -> None:
        """What a death of the process does to its connection."""
        before = consumer_of(worker)
        before._soon(before._connection.close)
        until(lambda: worker.consumers[LANE].consumer is not before)

    def close(self) -> None:
        for run in self.runs:
            run.set()
        self.broker.draining.set()
        for worker in self._workers:
            worker.stop(5000)
        self._connection.close()

    def _hold(self) -> None:
        run = threading.Event()
        self.runs.append(run)
        run.wait(30)


def consumer_of(worker: Worker) -> SafeConsumer:
    """The consumer that the worker's lane has at this moment."""
    found = worker.consumers[LANE].consumer
    assert isinstance(found, SafeConsumer)
    return found
