"""What the ledger costs: no-op jobs through RabbitMQ and PostgreSQL beside raw Dramatiq, and whether order holds.

    python bench/engine.py [--jobs N] [--rounds N] [--rabbitmq URL]

Two worker processes of eight threads each time, everything published or inserted before their clock starts; it stops
when all is done and no wake-up is left. Claim and completion of every job are committed to a PostgreSQL that syncs to
disk. Raw and ours are measured in turn, some rounds of it, and the median counts: a neighbour on the machine slows
whoever runs at that moment. Prints a Markdown table for docs/benchmarks.md; exit code 1 when the ratio to the faster
raw Dramatiq is below the bar, a job was not done exactly once, or order broke.
"""

import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import median
from uuid import UUID

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import pika  # noqa: E402
import psycopg  # noqa: E402
from dramatiq import Message  # noqa: E402
from pydantic import SecretStr  # noqa: E402

from base.settings import Broker as BrokerSettings  # noqa: E402
from base.settings import DatabaseLimits  # noqa: E402
from bench import engine_raw as raw  # noqa: E402
from bench import engine_step as stepped  # noqa: E402
from broker import wake  # noqa: E402
from broker.rabbit_wakes import wakes  # noqa: E402
from ledger.inserting import insert, insert_many  # noqa: E402
from schema.accounts import default_account  # noqa: E402
from schema.engine import Database, use  # noqa: E402
from tests.services.postgres import plain  # noqa: E402
from tests.services.rabbit import USUAL, Server, running  # noqa: E402
from tests.services.rabbit_management import Managed  # noqa: E402

#: Jobs a second through the ledger, as a share of messages a second through Dramatiq alone.
BAR = 0.12

PROCESSES = 2
THREADS = 8
_INSERTED_AT_ONCE = 1000
_ORDERED = 2000
_WOKEN = 2000


@dataclass(frozen=True)
class Servers:
    """Where the bench runs."""

    broker: str
    database: Database
    database_url: str
    superuser_url: str
    account_id: UUID


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=20_000, help="jobs to drain (default: %(default)s)")
    parser.add_argument("--rabbitmq", default=USUAL, help="a RabbitMQ whose vhosts may be made (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="times each is measured (default: %(default)s)")
    options = parser.parse_args(arguments)
    rabbitmq = running(options.rabbitmq)
    if rabbitmq is None:
        parser.error(f"a RabbitMQ is needed on which a vhost may be made; none answers at {options.rabbitmq}")
    with servers(rabbitmq) as where:
        rounds = [a_round(where, options.jobs) for _ in range(options.rounds)]
        one_by_one, in_bulk = insertion(where)
        inversions, broken = order(where)
    plain_rate, surrounded_rate, ledger_rate, logged_rate = (median(rates) for rates in zip(*rounds, strict=True))
    ratios = sorted(ours / max(plain, surrounded) for plain, surrounded, ours, _ in rounds)
    print(f"| {options.jobs:,} no-op jobs, {PROCESSES} processes of {THREADS} threads | jobs/s | of (a) | of (b) |")
    print("|---|---:|---:|---:|")
    for name, measured in (
        ("(a) raw Dramatiq as it comes", plain_rate),
        ("(b) raw Dramatiq with our middleware and prefetch", surrounded_rate),
        ("Longhaul, claim and completion committed", ledger_rate),
        ("the same, with a log line at start and end of each", logged_rate),
    ):
        print(f"| {name} | {measured:,.0f} | {measured / plain_rate:.2f} | {measured / surrounded_rate:.2f} |")
    print(f"| inserted one by one, each announced | {one_by_one:,.0f} | | |")
    print(f"| inserted {_INSERTED_AT_ONCE:,} at a time | {in_bulk:,.0f} | | |")
    print(f"\nRatios to the faster one: {', '.join(f'{ratio:.2f}' for ratio in ratios)}; the bar is {BAR}.")
    print(
        f"Order of {_ORDERED:,} jobs: {inversions} pairs began the other way round, {broken} of which did not overlap."
    )
    return int(median(ratios) < BAR or broken > 0)


def a_round(where: Servers, jobs: int) -> tuple[float, float, float, float]:
    """The four rates, one soon after the other."""
    return (
        drain_raw(where, "plain", jobs),
        drain_raw(where, "surrounded", jobs),
        drain_ledger(where, jobs),
        drain_ledger(where, jobs // 4, "INFO"),
    )


@contextmanager
def servers(rabbitmq: Server | Managed) -> Iterator[Servers]:
    """A vhost and a database of the bench's own."""
    from schema.embedded import DATABASE, attach  # noqa: PLC0415

    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="longhaul-bench-")))
        folder.chmod(0o711)
        server = attach(folder / "home", system_folder=folder / "system")
        stack.callback(server.close)
        database = Database(server.url, DatabaseLimits())
        stack.callback(database.close)
        use(database)
        broker = stack.enter_context(rabbitmq.vhost())
        superuser_url = server.superuser_url.replace("/postgres?", f"/{DATABASE}?")
        _vacuum_often(superuser_url)
        yield Servers(broker, database, server.url, superuser_url, default_account(database))


def drain_raw(where: Servers, kind: str, jobs: int) -> float:
    """Messages a second through Dramatiq alone."""
    broker = raw.KINDS[kind](where.broker)
    message: Message[object] = Message(queue_name=kind, actor_name=raw.TASK, args=(), kwargs={}, options={})
    broker.declare_queue(kind)
    for _ in range(jobs):
        broker.enqueue(message)
    broker.close()
    with workers(where, kind, "engine_raw", kind, where.broker) as folder:
        return rate(folder, jobs)


def drain_ledger(where: Servers, jobs: int, level: str = "WARNING") -> float:
    """Jobs a second, each done exactly once, with claim and completion committed."""
    for start in range(0, jobs, _INSERTED_AT_ONCE):
        with where.database.account(where.account_id) as connection:
            some = [stepped.Nothing()] * min(_INSERTED_AT_ONCE, jobs - start)
            insert_many(connection, stepped.TASK, some, account_id=where.account_id)
    _analyze(where)
    with stepping(where, level) as folder:
        measured = rate(folder, jobs, lambda: _waiting(where) == 0)
    lost = jobs - _count(where, "state = 'done' AND attempts = 1 AND fence = 1")
    _clear(where)
    if lost:
        raise SystemExit(f"{lost} of {jobs} jobs were not done exactly once.")
    return measured


def insertion(where: Servers) -> tuple[float, float]:
    """Jobs a second inserted one transaction each and announced after it, and inserted many at a time."""
    waker = wake.Waker(wakes(SecretStr(where.broker), BrokerSettings(), "bench"))
    began = time.monotonic()
    for _ in range(_WOKEN):
        with where.database.account(where.account_id) as connection:
            insert(connection, stepped.TASK, stepped.Nothing(), account_id=where.account_id)
        waker.wake(stepped.LANE, stepped.TASK, 1)
    waker.flush(10)
    one_by_one = _WOKEN / (time.monotonic() - began)
    waker.close()
    began = time.monotonic()
    for _ in range(5):
        with where.database.account(where.account_id) as connection:
            some = [stepped.Nothing()] * _INSERTED_AT_ONCE
            insert_many(connection, stepped.TASK, some, account_id=where.account_id)
    in_bulk = 5 * _INSERTED_AT_ONCE / (time.monotonic() - began)
    _clear(where)
    return one_by_one, in_bulk


def order(where: Servers, jobs: int = _ORDERED) -> tuple[int, int]:
    """Jobs of mixed priority, all committed before a worker starts.

    Answers the pairs that started the other way round, and how many of those did not run at the same moment.
    """
    dice = random.Random(7)
    with where.database.account(where.account_id) as connection:
        for _ in range(jobs):
            insert(
                connection, stepped.TASK, stepped.Nothing(), account_id=where.account_id, priority=dice.randint(1, 5)
            )
    _analyze(where)
    with stepping(where) as folder:
        rate(folder, jobs)
    with psycopg.connect(plain(where.superuser_url)) as connection:
        rows: list[tuple[datetime, datetime]] = connection.execute(
            "SELECT started_at, finished_at FROM jobs WHERE state = 'done' ORDER BY priority, created_at, id"
        ).fetchall()
    inverted = [
        (first, second) for number, first in enumerate(rows) for second in rows[number + 1 :] if second[0] < first[0]
    ]
    return len(inverted), sum(second[1] < first[0] for first, second in inverted)


@contextmanager
def stepping(where: Servers, level: str = "WARNING") -> Iterator[Path]:
    """Workers of the ledger's lane. Raw Dramatiq says nothing of a message that went well; nor do these, at WARNING."""
    with workers(where, stepped.LANE, "engine_step", where.broker, where.database_url, level) as folder:
        yield folder


@contextmanager
def workers(where: Servers, lane: str, module: str, *arguments: str) -> Iterator[Path]:
    """Worker processes that wait for the gate in the folder. What they run is `serve` of that module of the bench."""
    with tempfile.TemporaryDirectory(prefix="longhaul-bench-") as name:
        folder = Path(name)
        said = ", ".join(repr(one) for one in (*arguments, name))
        (folder / "served.py").write_text(f"from bench.{module} import serve\n\nserve({said})\n")
        command = [sys.executable, "-m", "dramatiq", "served", "--path", name, str(ROOT)]
        command += ["--processes", "1", "--threads", str(THREADS), "-Q", lane]
        started: list[subprocess.Popen[bytes]] = []
        try:
            for number in range(PROCESSES):
                with (folder / f"log-{number}").open("wb") as log:
                    started.append(
                        subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=ROOT)
                    )
            _wait(lambda: _consumers(where, lane) == PROCESSES, 60)
            yield folder
        finally:
            for process in started:
                process.send_signal(signal.SIGTERM)
            for process in started:
                process.wait(90)


def rate(folder: Path, jobs: int, is_empty: Callable[[], bool] | None = None) -> float:
    """Open the gate, and wait until all is done; with `is_empty`, until that holds too."""
    began = time.monotonic()
    (folder / "go").touch()

    def notes() -> list[dict[str, float]]:
        return [json.loads(note.read_text()) for note in folder.glob("*.json")]

    _wait(lambda: sum(note["runs"] for note in notes()) >= jobs, 600)
    ended = max(note["last"] for note in notes())
    if is_empty is not None and not is_empty():
        # A job that followed another needed no wake-up of its own; asking in vain is a part of the price.
        _wait(is_empty, 60)
        ended = time.monotonic()
    return jobs / (ended - began)


def _consumers(where: Servers, lane: str) -> int:
    """How many processes take messages of the lane."""
    connection = pika.BlockingConnection(pika.URLParameters(where.broker))
    try:
        return int(connection.channel().queue_declare(lane, passive=True).method.consumer_count)
    except pika.exceptions.ChannelClosedByBroker:
        return 0
    finally:
        connection.close()


def _waiting(where: Servers) -> int:
    """How many wake-ups are left in the ledger's lane."""
    connection = pika.BlockingConnection(pika.URLParameters(where.broker))
    try:
        return int(connection.channel().queue_declare(stepped.LANE, passive=True).method.message_count)
    finally:
        connection.close()


def _wait(condition: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit("The engine bench came to no end: its workers do nothing.")
        time.sleep(0.05)


def _count(where: Servers, condition: str) -> int:
    with psycopg.connect(plain(where.superuser_url)) as connection:
        (found,) = connection.execute(f"SELECT count(*) FROM jobs WHERE {condition}").fetchone() or (0,)  # noqa: S608
    return int(found)


def _vacuum_often(superuser_url: str) -> None:
    """As docs/operating.md asks: a claim walks past the jobs claimed since the last vacuum."""
    with psycopg.connect(plain(superuser_url), autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET autovacuum_naptime = '5s'")
        connection.execute("SELECT pg_reload_conf()")


def _analyze(where: Servers) -> None:
    with psycopg.connect(plain(where.superuser_url), autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE jobs")


def _clear(where: Servers) -> None:
    with psycopg.connect(plain(where.superuser_url), autocommit=True) as connection:
        connection.execute("TRUNCATE jobs CASCADE")
    connection = pika.BlockingConnection(pika.URLParameters(where.broker))
    connection.channel().queue_purge(stepped.LANE)
    connection.close()


if __name__ == "__main__":
    sys.exit(main())
