"""`doctor` adds up the times that have to fit one another, and says what RabbitMQ allows."""

from uuid import UUID

from base.terminal.exits import Exit
from ledger import claiming, ending, observing, workers
from schema.engine import Database
from tests.broker.jobs_under_test import Jobs
from tests.broker.steps_under_test import Nothing
from tests.cli.running import longhaul, on
from tests.services.postgres import Clone


def test_the_sums_of_times_are_told(clone: Clone, rabbit: str, database: Database, account_id: UUID) -> None:
    jobs = Jobs(database, clone, account_id)
    job = jobs.insert("brokertest.noop", Nothing())
    worker = workers.register(database, lanes=["test"], tasks=["brokertest.noop"])
    claim = claiming.claim(database, worker, "test", ["brokertest.noop"])
    assert claim is not None
    ending.hand_over(database, claim, progressed=True)
    claim = claiming.claim(database, worker, "test", ["brokertest.noop"])
    assert claim is not None
    ending.complete(database, claim)
    jobs.execute("UPDATE job_attempts SET started_at = started_at - interval '5 hours' WHERE job_id = %s", job)
    observing.note(database, "broker.ack_timeout_ms", 7_200_000)

    found = _doctor(clone, rabbit)
    assert found["times"][0][1].endswith("hung after 20 m; both are looked for every 5 m.")
    assert [words for _, words in found["times"][1:]] == [
        "The slowest pass may take 19 m; the longest run of 30 days took 5 h.",
    ]
    ((state, words),) = found["ack timeout"]
    assert state == "warning"
    assert words.startswith("RabbitMQ takes a message back after 7200 s (seen ")

    ((state, words),) = _doctor(clone, rabbit, "--ack-timeout-raised")["ack timeout"]
    assert state == "warning"
    assert words == "4 h set, 4 h at RabbitMQ; runs hand over after 3 h 40 m, and one took 5 h. Raise both above it."


def test_an_ack_timeout_that_leaves_no_time_for_a_pass_is_wrong(clone: Clone, rabbit: str, database: Database) -> None:
    observing.note(database, "broker.ack_timeout_ms", 900_000)
    ((state, words),) = _doctor(clone, rabbit, code=Exit.FAILED)["ack timeout"]
    assert state == "wrong"
    assert "after 900 s" in words


def _doctor(clone: Clone, rabbit: str, *words: str, code: Exit = Exit.DONE) -> dict[str, list[tuple[str, str]]]:
    """State and words of every finding, by what was looked at; without the machine's own rabbitmqctl."""
    env = on(clone, LONGHAUL_BROKER_URL=rabbit, LONGHAUL_BROKER__RABBITMQCTL="none")
    done = longhaul("doctor", "--json", *words, env=env)
    assert done.code == code, done.said
    found: dict[str, list[tuple[str, str]]] = {}
    for finding in done.json["findings"]:
        found.setdefault(finding["what"], []).append((finding["state"], finding["words"]))
    return found
