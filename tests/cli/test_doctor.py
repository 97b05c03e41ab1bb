"""`doctor` says what is well, and leaves with 1 for each thing that isn't: one real breakage a test."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pika
import psycopg
import pytest

import actors
from base.terminal.exits import Exit
from schema.embedded import attach, leftovers
from schema.migrate import head
from tests.cli.running import ROOT, Done, environment, longhaul, on
from tests.fakes.llm_replies import Answer, status
from tests.fakes.llm_server import LlmServer
from tests.services.postgres import Clone, plain

_EXAMPLE = ROOT / "examples" / "epa-cwa.json"


def _found(done: Done) -> dict[str, list[tuple[str, str]]]:
    """State and words of every finding, by what was looked at."""
    found: dict[str, list[tuple[str, str]]] = {}
    for finding in done.json["findings"]:
        found.setdefault(finding["what"], []).append((finding["state"], finding["words"]))
    return found


def _wrong(done: Done) -> list[tuple[str, str]]:
    """What is wrong, and the words for it; the exit code agrees."""
    wrong = [(what, words) for what, looks in _found(done).items() for state, words in looks if state == "wrong"]
    assert done.code == (Exit.FAILED if wrong else Exit.DONE), done.said
    assert done.json["ok"] is (not wrong)
    assert "Traceback" not in done.said
    return wrong


@contextmanager
def _nobody_listens() -> Iterator[int]:
    """A port that refuses connections for as long as we hold it."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


def test_with_nothing_but_a_database_all_is_well(clone: Clone) -> None:
    done = longhaul("doctor", "--json", env=on(clone))
    assert _wrong(done) == []
    found = _found(done)
    assert found["schema"] == [("ok", f"At {head()}, the newest revision.")]
    assert found["broker"][0][0] == "off"
    assert found["model"][0][0] == "off"


def test_for_people_it_is_a_table_with_the_settings_above(clone: Clone) -> None:
    done = longhaul("doctor", env=on(clone, LONGHAUL_WORKER__THREADS="3"))
    assert done.code == Exit.DONE, done.said
    assert "LONGHAUL_WORKER__THREADS  3" in done.out
    assert "schema" in done.out


def test_a_broker_and_a_model_that_answer_are_well(clone: Clone, rabbit: str) -> None:
    with LlmServer(Answer('{"ok": true}')) as server:
        done = longhaul(
            "doctor",
            "--json",
            env=on(
                clone, LONGHAUL_BROKER_URL=rabbit, LONGHAUL_LLM__BASE_URL=server.url, LONGHAUL_LLM__MODEL="scripted"
            ),
        )
        assert len(server.requests) == 1
    assert _wrong(done) == []
    found = _found(done)
    assert found["broker"][0][1].startswith("RabbitMQ ")
    assert found["model"][0][0] == "ok"
    assert {state for state, _ in found["workers"]} == {"warning"}


def test_an_open_alert_is_shown_and_only_a_critical_one_is_wrong(clone: Clone) -> None:
    raised = (
        "INSERT INTO alerts (id, source, cause, severity, text, count) "
        "VALUES (gen_random_uuid(), 'test', %s, %s, %s, 3)"
    )
    with psycopg.connect(plain(clone.superuser_url), autocommit=True) as superuser:
        superuser.execute(raised, ["silence", "warning", "It is too quiet. Listen."])
        superuser.execute(
            "INSERT INTO alerts (id, source, cause, severity, text, acknowledged_at, acknowledged_by) "
            "VALUES (gen_random_uuid(), 'test', 'past', 'critical', 'Over.', now(), 'a person')"
        )
        done = longhaul("doctor", "--json", env=on(clone))
        assert _wrong(done) == []
        ((state, words),) = _found(done)["alert"]
        assert state == "warning"
        assert words.startswith("3 times since ")
        assert words.endswith(": It is too quiet. Listen.")
        superuser.execute(raised, ["fire", "critical", "It burns. Run."])
    ((what, words),) = _wrong(longhaul("doctor", "--json", env=on(clone)))
    assert what == "alert"
    assert "It burns" in words


def test_a_database_that_is_unreachable_is_wrong() -> None:
    with _nobody_listens() as port:
        done = longhaul(
            "doctor",
            "--json",
            env=environment(LONGHAUL_DATABASE_URL=f"postgresql://longhaul:hidden@127.0.0.1:{port}/longhaul"),
        )
    ((what, words),) = _wrong(done)
    assert what == "database"
    assert "refused" in words
    assert "hidden" not in done.said


def _at(clone: Clone, revision: str) -> None:
    with psycopg.connect(plain(clone.owner_url), autocommit=True) as owner:
        owner.execute("UPDATE alembic_version SET version_num = %s", (revision,))


def test_a_schema_that_is_behind_is_wrong(clone: Clone) -> None:
    _at(clone, "0001")
    ((what, words),) = _wrong(longhaul("doctor", "--json", env=on(clone)))
    assert what == "schema"
    assert "0001" in words
    assert head() in words
    assert "./longhaul migrate" in words


def test_of_a_newer_schema_every_command_says_the_same(clone: Clone) -> None:
    _at(clone, "9999")
    env = on(clone, LONGHAUL_DATABASE_OWNER_URL=clone.owner_url)
    ((what, words),) = _wrong(longhaul("doctor", "--json", env=env))
    assert what == "schema"
    assert "Update this installation" in words
    for typed in (["migrate"], ["jobs", "list"], ["runs", "list"], ["enrich", str(_EXAMPLE)], ["up"]):
        done = longhaul(*typed, env=env)
        assert (typed, done.code, done.err.splitlines()[-1]) == (typed, Exit.USAGE, words)


def test_of_a_login_that_may_everything_every_command_says_the_same(clone: Clone) -> None:
    env = environment(LONGHAUL_DATABASE_URL=clone.owner_url)
    ((what, words),) = _wrong(longhaul("doctor", "--json", env=env))
    assert what == "database"
    assert "LONGHAUL_DATABASE_OWNER_URL" in words
    for typed in (["jobs", "list"], ["runs", "list"], ["enrich", str(_EXAMPLE)], ["up"]):
        done = longhaul(*typed, env=env)
        assert (typed, done.code, done.err.splitlines()[-1]) == (typed, Exit.USAGE, words)


@pytest.mark.parametrize("url", ["postgresql://longhaul:hidden@[bad/x", "longhaul:hidden@host/x", "hidden"])
def test_an_address_that_makes_no_sense_is_one_sentence(url: str) -> None:
    done = longhaul("doctor", "--json", env=environment(LONGHAUL_DATABASE_URL=url))
    ((what, words),) = _wrong(done)
    assert what == "database"
    assert "LONGHAUL_DATABASE_URL" in words
    assert "hidden" not in done.said


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's databases lie outside of their clones")
def test_the_embedded_database_of_a_clone_that_is_gone_is_told_with_how_to_remove_it(clone: Clone, home: Path) -> None:
    (home / "clone").mkdir()
    with attach(home / "clone", durable=False) as server:
        files = server.place.files
    try:
        (home / "clone").rename(home / "moved")
        done = longhaul("doctor", "--json", env=on(clone))
        told = [words for state, words in _found(done)["leftovers"] if str(files) in words]
        assert _wrong(done) == []
        assert f"rm -r {files} {files}.home" in told[0]
        assert str(home / "clone") in told[0]
    finally:
        leftovers.remove(files)


def test_a_broker_that_is_unreachable_is_wrong(clone: Clone) -> None:
    with _nobody_listens() as port:
        done = longhaul("doctor", "--json", env=on(clone, LONGHAUL_BROKER_URL=f"amqp://guest:hidden@127.0.0.1:{port}"))
    ((what, _),) = _wrong(done)
    assert what == "broker"
    assert "hidden" not in done.said


def test_queue_arguments_that_differ_are_wrong(clone: Clone, rabbit: str) -> None:
    lane = actors.lanes()[0]
    with pika.BlockingConnection(pika.URLParameters(rabbit)) as connection:
        connection.channel().queue_declare(lane, durable=True, arguments={"x-max-length": 7})
    ((what, words),) = _wrong(longhaul("doctor", "--json", env=on(clone, LONGHAUL_BROKER_URL=rabbit)))
    assert what == "queues"
    assert lane in words


@pytest.mark.parametrize(
    ("setting", "value", "named"),
    [
        ("LONGHAUL_BROKER__ACK_TIMEOUT", "60", "ACK_TIMEOUT"),
        ("LONGHAUL_LLM__BASEURL", "http://localhost", "LONGHAUL_LLM__BASE_URL"),
        ("LONGHAUL_WORKER__THREADS", "many", "LONGHAUL_WORKER__THREADS"),
    ],
)
def test_settings_that_contradict_or_mean_nothing_are_wrong(setting: str, value: str, named: str) -> None:
    ((what, words),) = _wrong(longhaul("doctor", "--json", env=environment(**{setting: value})))
    assert what == "settings"
    assert named in words


def test_a_model_that_refuses_is_wrong(clone: Clone) -> None:
    with LlmServer(status(401)) as server:
        done = longhaul(
            "doctor",
            "--json",
            env=on(
                clone,
                LONGHAUL_LLM__BASE_URL=server.url,
                LONGHAUL_LLM__MODEL="scripted",
                LONGHAUL_LLM__API_KEY="sk-hidden",
            ),
        )
        assert len(server.requests) == 1
    ((what, _),) = _wrong(done)
    assert what == "model"
    assert "sk-hidden" not in done.said


def test_a_model_that_is_unreachable_is_wrong(clone: Clone) -> None:
    with _nobody_listens() as port:
        done = longhaul(
            "doctor",
            "--json",
            env=on(clone, LONGHAUL_LLM__BASE_URL=f"http://127.0.0.1:{port}/v1", LONGHAUL_LLM__MODEL="scripted"),
        )
    ((what, _),) = _wrong(done)
    assert what == "model"
