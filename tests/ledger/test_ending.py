"""Complete, fail, retry, hand over: one transaction each, with follow-ups and the declared reaction (I3, I4)."""

from datetime import timedelta

import pytest
from sqlalchemy import Connection, text

from ledger import ending, gates
from ledger.inserting import FollowUp
from tests.ledger.scene import GATED, ONCE, RECOVERED, TRIED, Payload, Reactions, Result, Scene


def _mark(connection: Connection) -> None:
    connection.execute(text("UPDATE job_bodies SET reduced = true"))


def test_done_stores_result_reason_and_times(scene: Scene) -> None:
    claim = scene.hold()
    ending.complete(scene.database, claim, Result(answer="42"), reason="partial")
    row = scene.row(claim.job_id)
    assert (row["state"], row["reason"], row["error"], row["worker_id"]) == ("done", "partial", None, scene.worker_id)
    assert row["finished_at"] > row["started_at"]
    assert scene.look("SELECT result FROM job_bodies") == [{"result": {"answer": "42"}}]
    assert scene.attempts(claim.job_id) == []


def test_write_follow_ups_and_reaction_commit_with_the_end(scene: Scene, reactions: Reactions) -> None:
    claim = scene.hold(TRIED, key="k")
    ending.complete(
        scene.database,
        claim,
        Result(answer="x"),
        write=_mark,
        follow_ups=[FollowUp(task=ONCE, payload=Payload(n=8), key="next", priority=3, total_items=2)],
    )
    (seen,) = reactions.seen
    assert (seen.job_id, seen.outcome, seen.key, seen.attempts, seen.worker_id) == (
        claim.job_id,
        "done",
        "k",
        1,
        scene.worker_id,
    )
    (follow_up,) = scene.look("SELECT * FROM jobs WHERE key = 'next'")
    assert (follow_up["priority"], follow_up["total_items"], follow_up["account_id"]) == (3, 2, scene.account_id)
    assert {row["reduced"] for row in scene.look("SELECT reduced FROM job_bodies WHERE result IS NOT NULL")} == {True}


@pytest.mark.parametrize("culprit", ["write", "reaction"])
def test_what_raises_undoes_the_whole_end(scene: Scene, reactions: Reactions, culprit: str) -> None:
    def broken(connection: Connection) -> None:
        _mark(connection)
        raise RuntimeError("this write refuses")

    claim = scene.hold(TRIED)
    reactions.refuse = culprit == "reaction"
    with pytest.raises(RuntimeError, match=f"this {culprit} refuses"):
        ending.complete(
            scene.database,
            claim,
            Result(answer="x"),
            write=broken if culprit == "write" else _mark,
            follow_ups=[FollowUp(task=ONCE, payload=Payload())],
        )
    assert scene.row(claim.job_id)["state"] == "running"
    assert scene.look("SELECT result, reduced FROM job_bodies") == [{"result": None, "reduced": False}]
    reactions.refuse = False
    ending.complete(scene.database, claim)


def test_failed_says_why_without_secrets(scene: Scene, reactions: Reactions) -> None:
    claim = scene.hold(TRIED)
    error = RuntimeError("401 from https://me:hunter2@llm.example/v1 with Authorization: Bearer abcdef123456")
    ending.fail(scene.database, claim, reason="refused", error=error)
    row = scene.row(claim.job_id)
    assert (row["state"], row["reason"]) == ("failed", "refused")
    assert row["error"] == "401 from https://***@llm.example/v1 with Authorization: Bearer ***"
    (attempt,) = scene.attempts(claim.job_id)
    assert (attempt["outcome"], attempt["attempt"], attempt["error"]) == ("failed", 1, row["error"])
    assert (attempt["started_at"], attempt["worker_id"]) == (claim.claimed_at, scene.worker_id)
    assert [seen.outcome for seen in reactions.seen] == ["failed"]


def test_retries_follow_the_ladder_until_attempts_are_used_up(scene: Scene, reactions: Reactions) -> None:
    job_id = scene.insert(TRIED)
    first = scene.claim()
    assert first is not None
    assert ending.retry(scene.database, first, error="busy")
    second = scene.claim()  # the first rung is no wait
    assert second is not None
    assert ending.retry(scene.database, second, error="busy")
    row = scene.row(job_id)
    assert (row["state"], row["ready"], row["attempts"], row["error"]) == ("pending", False, 2, "busy")
    assert timedelta(minutes=4, seconds=50) < row["due_at"] - row["created_at"] < timedelta(minutes=5, seconds=10)
    assert scene.claim() is None
    scene.change("UPDATE jobs SET ready = true")
    third = scene.claim()
    assert third is not None
    assert not ending.retry(scene.database, third, error="busy")
    row = scene.row(job_id)
    assert (row["state"], row["reason"], row["attempts"]) == ("failed", "attempts_exhausted", 3)
    assert [attempt["outcome"] for attempt in scene.attempts(job_id)] == ["retried", "retried", "failed"]
    assert [seen.outcome for seen in reactions.seen] == ["failed"]  # a retry is no end


@pytest.mark.parametrize(("asked", "waited"), [(1, 300), (900, 900)])
def test_the_partners_wish_counts_when_it_is_longer(scene: Scene, asked: int, waited: int) -> None:
    job_id = scene.insert(TRIED)
    scene.change("UPDATE jobs SET attempts = 1, fence = 1")
    claim = scene.claim()
    assert claim is not None
    ending.retry(scene.database, claim, error="429", retry_after=timedelta(seconds=asked))
    row = scene.row(job_id)
    assert abs((row["due_at"] - row["created_at"]).total_seconds() - waited) < 10


def test_where_recoveries_are_the_bound_the_first_failure_is_final(scene: Scene) -> None:
    claim = scene.hold(RECOVERED)
    assert not ending.retry(scene.database, claim, error="busy")
    assert scene.row(claim.job_id)["state"] == "failed"


def test_a_handover_with_progress_burns_no_attempt(scene: Scene, reactions: Reactions) -> None:
    for task in (TRIED, RECOVERED):
        job_id = scene.insert(task)
        for _ in range(5):
            claim = scene.claim()
            assert claim is not None
            assert ending.hand_over(scene.database, claim, progressed=True)
        row = scene.row(job_id)
        assert (row["state"], row["ready"], row["attempts"], row["recoveries"], row["fence"]) == (
            "pending",
            True,
            0,
            0,
            5,
        )
        assert row["worker_id"] is None
        assert {attempt["outcome"] for attempt in scene.attempts(job_id)} == {"handed_over"}
        ending.cancel(scene.database, scene.account_id, job_id, by="a test")
    assert {seen.outcome for seen in reactions.seen} == {"canceled"}


def test_handovers_without_progress_come_to_an_end_by_attempts(scene: Scene) -> None:
    job_id = scene.insert(TRIED)
    outcomes = []
    for _ in range(3):
        claim = scene.claim()
        assert claim is not None
        outcomes.append(ending.hand_over(scene.database, claim, progressed=False))
        scene.change("UPDATE jobs SET ready = true")
    assert outcomes == [True, True, False]
    row = scene.row(job_id)
    assert (row["state"], row["reason"], row["attempts"]) == ("failed", "no_progress", 3)


def test_handovers_without_progress_come_to_an_end_by_recoveries(scene: Scene) -> None:
    job_id = scene.insert(RECOVERED)
    outcomes = []
    for _ in range(3):
        claim = scene.claim()
        assert claim is not None
        outcomes.append(ending.hand_over(scene.database, claim, progressed=False))
    assert outcomes == [True, True, False]
    row = scene.row(job_id)
    assert (row["state"], row["reason"]) == ("failed", "recovery_exhausted")
    assert (row["attempts"], row["recoveries"], row["fence"]) == (0, 2, 3)


@pytest.mark.parametrize(
    "end",
    [
        lambda s, c: ending.complete(s.database, c),
        lambda s, c: ending.complete(s.database, c, write=_mark),
        lambda s, c: ending.fail(s.database, c, reason="x", error="x"),
        lambda s, c: ending.retry(s.database, c, error="x"),
        lambda s, c: ending.hand_over(s.database, c, progressed=True),
        lambda s, c: ending.hand_over(s.database, c, progressed=False),
        lambda s, c: ending.cancel(s.database, s.account_id, c.job_id, by="x"),
    ],
)
def test_every_end_frees_the_slot_of_the_gate(scene: Scene, end: "object") -> None:
    claim = scene.hold(GATED)
    assert gates.fill(scene.database, "narrow") == (2, 1)
    assert callable(end)
    end(scene, claim)
    assert gates.fill(scene.database, "narrow") == (2, 0)
