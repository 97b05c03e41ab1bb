"""Insert: in the caller's transaction, one open job per key, in the order of the request (I4, I6)."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from uuid import UUID

import pytest

from base import clock
from base.errors import Conflict, Misconfigured
from base.ids import uuid7
from ledger import ending, inserting
from ledger.inserting import Inserted
from schema.accounts import account
from tests.ledger.scene import GATED, ONCE, RECOVERED, REFUSING, TRIED, Payload, Result, Scene


def test_a_job_carries_its_policy(scene: Scene) -> None:
    row = scene.row(scene.insert(TRIED, n=4))
    assert (row["lane"], row["bucket"], row["priority"], row["state"], row["ready"]) == (
        "test",
        TRIED,
        100,
        "pending",
        True,
    )
    assert (row["max_attempts"], row["max_recoveries"], row["attempts"], row["fence"]) == (3, None, 0, 0)
    assert scene.row(scene.insert(RECOVERED))["max_recoveries"] == 2
    assert scene.row(scene.insert(GATED))["bucket"] == f"{GATED}@narrow"


def test_the_request_may_replace_priority_gate_and_id(scene: Scene) -> None:
    wanted = uuid7()
    assert scene.insert(GATED, priority=7, lane="aside", gate="other", job_id=wanted, total_items=3) == wanted
    row = scene.row(wanted)
    assert (row["priority"], row["lane"], row["bucket"], row["total_items"]) == (7, "aside", f"{GATED}@other", 3)
    assert scene.claim() is None


def test_what_rolls_back_inserts_nothing(scene: Scene) -> None:
    def insert_then_change_my_mind() -> None:
        with scene.database.account(scene.account_id) as connection:
            inserting.insert(connection, ONCE, Payload(), account_id=scene.account_id)
            raise RuntimeError("changed my mind")

    with pytest.raises(RuntimeError, match="changed my mind"):
        insert_then_change_my_mind()
    assert scene.look("SELECT 1 FROM jobs") == []
    assert scene.look("SELECT 1 FROM job_bodies") == []


def test_a_job_due_later_is_not_ready(scene: Scene) -> None:
    later = scene.insert(due_at=clock.now() + timedelta(hours=1))
    earlier = scene.insert(due_at=clock.now() - timedelta(hours=1))
    assert not scene.row(later)["ready"]
    assert scene.row(earlier)["ready"]
    claim = scene.claim()
    assert claim is not None
    assert claim.job_id == earlier
    assert scene.claim() is None


def test_the_same_key_answers_the_open_job(scene: Scene) -> None:
    first = scene.insert(key="source:1")
    assert scene.insert(key="source:1") == first
    assert scene.insert(TRIED, key="source:1") == first  # a key may span tasks
    claim = scene.claim()
    assert claim is not None
    assert scene.insert(key="source:1") == first  # running is open too
    ending.complete(scene.database, claim)
    assert scene.insert(key="source:1") != first  # and no ended row ever reopens
    assert scene.row(first)["state"] == "done"


def test_a_task_may_refuse_a_second_request(scene: Scene) -> None:
    first = scene.insert(REFUSING, key="mapping:1")
    with pytest.raises(Conflict) as refusal:
        scene.insert(REFUSING, key="mapping:1")
    assert refusal.value.open_id == str(first)


def test_keys_of_other_accounts_are_other_keys(scene: Scene) -> None:
    mine = scene.insert(key="k")
    scene.account_id = account(scene.database, "other")
    assert scene.insert(key="k") != mine


def test_many_at_once_ask_for_one_key_and_one_is_inserted(scene: Scene) -> None:
    def ask(_: int) -> Inserted:
        with scene.database.account(scene.account_id) as connection:
            return inserting.insert(connection, ONCE, Payload(), account_id=scene.account_id, key="k")

    with ThreadPoolExecutor(8) as pool:
        for _ in range(10):
            answers = list(pool.map(ask, range(8)))
            assert len({answer.job_id for answer in answers}) == 1
            assert sum(answer.created for answer in answers) == 1
            claim = scene.claim()
            assert claim is not None
            ending.complete(scene.database, claim)


def test_whoever_waited_for_an_insert_that_rolled_back_inserts(scene: Scene) -> None:
    with (
        ThreadPoolExecutor(1) as pool,
        suppress(ZeroDivisionError),
        scene.database.account(scene.account_id) as connection,
    ):
        inserting.insert(connection, ONCE, Payload(), account_id=scene.account_id, key="k")
        waiting = pool.submit(scene.insert, key="k")
        scene.wait_until_somebody_waits_for_a_lock()
        raise ZeroDivisionError
    assert scene.row(waiting.result(10))["state"] == "pending"


def test_many_are_inserted_in_the_order_given(scene: Scene) -> None:
    with scene.database.account(scene.account_id) as connection:
        ids = inserting.insert_many(
            connection, ONCE, [Payload(n=n) for n in range(50)], account_id=scene.account_id, priority=5
        )
    taken: list[tuple[UUID, object]] = []
    while claim := scene.claim():
        taken.append((claim.job_id, claim.payload))
    assert taken == [(job_id, {"n": n}) for n, job_id in enumerate(ids)]


def test_a_task_takes_its_own_payload_and_must_be_known(scene: Scene) -> None:
    with scene.database.account(scene.account_id) as connection:
        with pytest.raises(TypeError, match="takes Payload, not Result"):
            inserting.insert(connection, ONCE, Result(answer="x"), account_id=scene.account_id)
        with pytest.raises(Misconfigured, match="can't be named"):
            inserting.insert(connection, ONCE, Payload(), account_id=scene.account_id, gate="a@b")
        with pytest.raises(Misconfigured, match="knows no task"):
            inserting.insert(connection, "test.unheard_of", Payload(), account_id=scene.account_id)
