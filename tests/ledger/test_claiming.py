"""Claim: the best runnable job in exact order, once, through its gate (I1, I2, I3)."""

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from time import monotonic_ns
from uuid import UUID

from ledger import ending, gates
from ledger.claiming import Claim
from schema.accounts import account
from tests.ledger.scene import GATED, ONCE, RECOVERED, TASKS, TRIED, Scene


def test_a_claim_counts_an_attempt_raises_the_fence_and_brings_the_payload(scene: Scene) -> None:
    job_id = scene.insert(TRIED, n=42, key="k")
    claim = scene.claim()
    assert claim is not None
    assert (claim.job_id, claim.task, claim.key, claim.payload) == (job_id, TRIED, "k", {"n": 42})
    assert (claim.fence, claim.attempts, claim.max_attempts, claim.recoveries) == (1, 1, 3, 0)
    row = scene.row(job_id)
    assert (row["state"], row["fence"], row["attempts"], row["worker_id"]) == ("running", 1, 1, scene.worker_id)
    assert row["started_at"] == claim.claimed_at
    assert scene.claim() is None


def test_order_is_priority_then_turn_then_age_over_all_tasks(scene: Scene) -> None:
    chance = random.Random(7)
    expected = []
    for n in range(120):
        priority, turn = chance.choice((1, 5, 5, 100)), chance.choice((0, 0, 1))
        job_id = scene.insert(chance.choice((ONCE, TRIED, RECOVERED)), priority=priority)
        scene.change("UPDATE jobs SET turn = %s WHERE id = %s", turn, job_id)
        expected.append((priority, turn, n, job_id))
    taken = []
    while claim := scene.claim():
        taken.append(claim.job_id)
    assert taken == [job_id for *_, job_id in sorted(expected)]


def test_only_known_tasks_of_the_lane_are_taken(scene: Scene) -> None:
    scene.insert(TRIED, priority=1)
    known = scene.insert(ONCE)
    claim = scene.claim([ONCE])
    assert claim is not None
    assert claim.job_id == known
    assert scene.claim([ONCE]) is None
    assert scene.claim([]) is None


def test_jobs_of_all_accounts_are_taken_each_with_its_own_body(scene: Scene) -> None:
    scene.insert(n=1)
    mine, scene.account_id = scene.account_id, account(scene.database, "other")
    scene.insert(n=2)
    claims = [scene.claim(), scene.claim()]
    assert [(c.account_id, c.payload) for c in claims if c] == [(mine, {"n": 1}), (scene.account_id, {"n": 2})]


def test_a_job_whose_body_is_gone_is_claimed_without_a_payload(scene: Scene) -> None:
    """So that it can be failed; a claim that raised would be made again and again."""
    scene.insert()
    scene.change("DELETE FROM job_bodies")
    claim = scene.claim()
    assert claim is not None
    assert claim.payload is None
    ending.fail(scene.database, claim, reason="payload_lost", error="The stored request is gone.")


def test_a_suspect_is_passed_over_on_request(scene: Scene) -> None:
    suspect = scene.insert(RECOVERED, priority=1)
    scene.change("UPDATE jobs SET recoveries = 1 WHERE id = %s", suspect)
    other = scene.insert(RECOVERED)
    claim = scene.claim(suspects=False)
    assert claim is not None
    assert claim.job_id == other
    assert scene.claim(suspects=False) is None
    claim = scene.claim()
    assert claim is not None
    assert (claim.job_id, claim.recoveries) == (suspect, 1)


def test_a_gate_lets_through_what_it_has_slots_for(scene: Scene) -> None:
    for _ in range(4):
        scene.insert(GATED, priority=1)
    free = scene.insert(ONCE)
    first, second, third = scene.claim(), scene.claim(), scene.claim()
    assert first is not None
    assert second is not None
    assert third is not None
    assert [first.task, second.task, third.job_id] == [GATED, GATED, free]
    assert gates.fill(scene.database, "narrow") == (2, 2)
    assert scene.claim() is None
    ending.complete(scene.database, first)
    assert gates.fill(scene.database, "narrow") == (2, 1)
    again = scene.claim()
    assert again is not None
    assert again.task == GATED
    assert scene.claim() is None


def test_a_gate_can_be_resized_while_jobs_are_inside(scene: Scene) -> None:
    for _ in range(6):
        scene.insert(GATED)
    inside = [claim for claim in (scene.claim(), scene.claim(), scene.claim()) if claim]
    assert len(inside) == 2
    gates.resize(scene.database, "narrow", 0)
    for claim in inside:
        ending.complete(scene.database, claim)
    gates.resize(scene.database, "narrow", 0)
    assert scene.claim() is None
    gates.resize(scene.database, "narrow", 3)
    assert len([claim for claim in (scene.claim(), scene.claim(), scene.claim(), scene.claim()) if claim]) == 3


def test_a_gate_nobody_sized_lets_nothing_through(scene: Scene) -> None:
    scene.insert(ONCE, gate="never sized", priority=1)
    other = scene.insert(ONCE)
    claim = scene.claim()
    assert claim is not None
    assert claim.job_id == other
    assert scene.claim() is None


def _drain(scene: Scene, threads: int) -> list[Claim]:
    taken: list[Claim] = []
    lock = threading.Lock()

    def work(_: int) -> None:
        while claim := scene.claim():
            with lock:
                taken.append(claim)

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, range(threads)))
    return taken


def test_claimers_at_the_same_moment_share_the_jobs_out(scene: Scene) -> None:
    ids = [scene.insert(random.Random(n).choice((ONCE, TRIED)), n=n) for n in range(200)]
    taken = _drain(scene, 10)
    # One may give up while others were faster, but between them nothing is left.
    rest = _drain(scene, 1)
    assert sorted(claim.job_id for claim in taken + rest) == sorted(ids)


def test_inversions_are_only_among_claims_made_at_the_same_moment(scene: Scene) -> None:
    """Nobody gets a job while a better one is there for the asking: not even for as long as a claim takes."""
    order = {scene.insert(TASKS[n % 3], n=n): n for n in range(240)}
    claims: list[tuple[int, int, int]] = []

    def work(_: int) -> None:
        while True:
            asked = monotonic_ns()
            claim = scene.claim()
            if claim is None:
                return
            claims.append((asked, monotonic_ns(), order[claim.job_id]))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert len(claims) > len(order) - 8
    for asked, _, place in claims:
        overtaken = [other for _, answered, other in claims if answered < asked and other > place]
        assert not overtaken, f"{overtaken} were given away before the claim that got {place} began"


def test_a_gate_holds_against_claimers_at_the_same_moment(scene: Scene) -> None:
    """At no moment more than two of them run, and every free slot is used in the end."""
    for n in range(60):
        scene.insert(GATED, n=n)
    inside: set[UUID] = set()
    most = 0
    lock = threading.Lock()

    def work(_: int) -> None:
        nonlocal most
        while True:
            claim = scene.claim()
            if claim is None:
                if not scene.look("SELECT 1 FROM jobs WHERE state = 'pending' LIMIT 1"):
                    return
                continue
            with lock:
                inside.add(claim.job_id)
                most = max(most, len(inside))
            with lock:
                inside.discard(claim.job_id)
            ending.complete(scene.database, claim)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, range(6)))
    assert 1 <= most <= 2
    assert gates.fill(scene.database, "narrow") == (2, 0)
