"""Any sequence of verbs, against a model of the ledger in a dictionary (I2, I3, I6, I8).

After each step the rows must be what the model says, and what must hold of any ledger must hold: at most one live
claim per job, a fence that only rises, the equation of attempts, one open job per key, ended rows that stay.
"""

import os
from collections import Counter
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from base import clock
from base.errors import ClaimLost, Conflict
from ledger import ending, reaping, running, waking, workers
from ledger.claiming import Claim
from ledger.inserting import FollowUp
from ledger.policy import policy
from ledger.reaping import Reaped
from tests.ledger.scene import GATED, LANE, ONCE, RECOVERED, REFUSING, STALE, TASKS, TRIED, Payload, Reactions, Scene
from tests.ledger.verbs import VERBS

OPEN = ("pending", "running")
ENDED = ("done", "failed", "canceled")


#: What a live run may say.
_SAID = (
    "progress",
    "checkpoint",
    "complete",
    "complete and go on",
    "fail",
    "retry",
    "orphan",
    "hand over",
    "hand over without progress",
)


@dataclass(frozen=True)
class Job:
    """What the model knows of a job."""

    id: UUID
    n: int
    task: str
    key: str | None
    priority: int
    state: str = "pending"
    ready: bool = True
    claims: int = 0
    taken: int = 0  # reaps and cancels: the fence rises, the holder is not asked
    uncounted: int = 0  # handovers and reaps that give the attempt back
    recoveries: int = 0
    asked: bool = True  # its stored request is there

    @property
    def fence(self) -> int:
        return self.claims + self.taken

    @property
    def attempts(self) -> int:
        return self.claims - self.uncounted


class Ledger(RuleBasedStateMachine):
    """Two rules: somebody asks the ledger for something, or a run says something. `claims` keeps every claim ever made.

    Two and not a dozen, because Hypothesis leaves whole rules out of an example, and no verb tells much without the
    others.
    """

    scene: Scene
    reactions: Reactions

    def __init__(self) -> None:
        super().__init__()
        self.jobs: dict[UUID, Job] = {}
        self.claims: list[Claim] = []
        self.order = 0
        self.fences: Counter[UUID] = Counter()
        self.ended: dict[UUID, dict[str, Any]] = {}
        self.reactions.seen.clear()
        self.scene.change("TRUNCATE jobs, workers CASCADE")
        self.scene.change("UPDATE gate_slots SET job_id = NULL")
        self.workers = [self.scene.enter() for _ in range(2)]

    @initialize(tasks=st.lists(st.sampled_from(TASKS), min_size=3, max_size=3))
    def a_day_begins(self, tasks: list[str]) -> None:
        for task in tasks:
            self._add(self.scene.insert(task), task, None, 100, ready=True)
        self._claim(0, set(TASKS), suspects=True)

    @rule(
        data=st.data(), what=st.sampled_from(["insert", *["claim"] * 3, "cancel", "silence", "death", "time", "loss"])
    )
    def somebody_asks(self, data: st.DataObject, what: str) -> None:
        match what:
            case "insert":
                self._insert(
                    data.draw(st.sampled_from(TASKS)),
                    data.draw(st.none() | st.sampled_from(["a", "b"])),
                    data.draw(st.sampled_from([1, 100])),
                    later=data.draw(st.booleans()),
                )
            case "claim":
                tasks = data.draw(st.just(set(TASKS)) | st.sets(st.sampled_from(TASKS), min_size=1))
                self._claim(data.draw(st.integers(0, 1)), tasks, suspects=data.draw(st.booleans()))
            case "cancel":
                self._cancel(self.jobs[data.draw(st.sampled_from(sorted(self.jobs)))])
            case "silence":
                self._reap_after_silence(data.draw(st.integers(0, 1)))
            case "death":
                self._reap_after_death(data.draw(st.integers(0, 1)))
            case "loss":
                self._lose_the_request(self.jobs[data.draw(st.sampled_from(sorted(self.jobs)))])
            case _:
                self._let_time_pass()

    @precondition(lambda self: self.claims)
    @rule(data=st.data(), what=st.sampled_from(_SAID))
    def a_run_says(self, data: st.DataObject, what: str) -> None:
        """A live one what it likes; a stale one everything at once, most telling while another claim holds its job."""
        if live := self._live():
            claim = data.draw(st.sampled_from(live))
            self._say(claim, self.jobs[claim.job_id], what)
        if stale := self._stale():
            overtaken = [claim for claim in stale if self.jobs[claim.job_id].state == "running"]
            claim = data.draw(st.sampled_from(overtaken or stale))
            for verb in VERBS.values():
                with pytest.raises(ClaimLost):
                    verb(self.scene, claim, lambda _: pytest.fail("a stale run wrote"))
            assert not workers.release(self.scene.database, claim.worker_id, claim.job_id, claim.fence)

    # -- asking

    def _insert(self, task: str, key: str | None, priority: int, *, later: bool) -> None:
        due_at = clock.now() + timedelta(days=1) if later else None
        holder = next((j for j in self.jobs.values() if key and j.key == key and j.state in OPEN), None)
        if holder and task == REFUSING:
            with pytest.raises(Conflict):
                self.scene.insert(task, key=key, priority=priority, due_at=due_at)
            return
        job_id = self.scene.insert(task, key=key, priority=priority, due_at=due_at)
        if holder:
            assert job_id == holder.id
        else:
            self._add(job_id, task, key, priority, ready=not later)

    def _claim(self, who: int, tasks: set[str], *, suspects: bool) -> None:
        self.scene.worker_id = self.workers[who]
        claim = self.scene.claim(tasks, suspects=suspects)
        best = self._best(tasks, suspects)
        if best is None:
            assert claim is None
            return
        assert claim is not None
        assert claim.job_id == best.id
        self._set(best, state="running", claims=best.claims + 1)
        now = self.jobs[best.id]
        assert (claim.fence, claim.attempts, claim.recoveries) == (now.fence, now.attempts, now.recoveries)
        assert (claim.payload is not None) == now.asked
        self.claims.append(claim)

    def _cancel(self, job: Job) -> None:
        answer = ending.cancel(self.scene.database, self.scene.account_id, job.id, by="a test").answer
        assert answer == ("accepted" if job.state in OPEN else "already_ended")
        if job.state in OPEN:
            self._set(job, state="canceled", taken=job.taken + 1)

    def _reap_after_silence(self, who: int) -> None:
        assert reaping.reap(self.scene.database) == []
        silent = self.workers[who]
        self.scene.age(silent, 2 * STALE)
        reaped = reaping.reap(self.scene.database)
        self.scene.age(silent, -2 * STALE)
        self._taken_from(silent, reaped, due_at_once=False)

    def _reap_after_death(self, who: int) -> None:
        """A worker's process is gone; another takes its row, so that the day goes on."""
        assert reaping.reap_gone(self.scene.database) == []
        dead = self.workers[who]
        self.scene.change("UPDATE workers SET pid = %s WHERE id = %s", 2**22 + 1, dead)
        reaped = reaping.reap_gone(self.scene.database)
        self.scene.change("UPDATE workers SET pid = %s WHERE id = %s", os.getpid(), dead)
        self._taken_from(dead, reaped, due_at_once=True)

    def _taken_from(self, worker_id: UUID, reaped: list[Reaped], *, due_at_once: bool) -> None:
        lost = {(claim.job_id, claim.fence) for claim in self._live() if claim.worker_id == worker_id}
        assert {(r.job_id, r.fence) for r in reaped} == lost
        assert {r.gone for r in reaped} <= {due_at_once}
        for job in [self.jobs[r.job_id] for r in reaped]:
            declared = policy(job.task)
            by_recoveries = declared.max_recoveries is not None
            limit = declared.max_recoveries if by_recoveries else declared.attempt_limit
            spent = not job.asked or (job.recoveries if by_recoveries else job.attempts) >= (limit or 0)
            self._set(
                job,
                state="failed" if spent else "pending",
                ready=spent or due_at_once,
                taken=job.taken + 1,
                uncounted=job.uncounted + by_recoveries,
                recoveries=job.recoveries + (not spent),
            )

    def _let_time_pass(self) -> None:
        waiting = [job for job in self.jobs.values() if job.state == "pending" and not job.ready]
        assert self.scene.come_due() == len(waiting)
        for job in waiting:
            self._set(job, ready=True)

    def _lose_the_request(self, job: Job) -> None:
        if job.state in OPEN:
            self.scene.change("DELETE FROM job_bodies WHERE job_id = %s", job.id)
            self._set(job, asked=False)

    # -- saying

    def _say(self, claim: Claim, job: Job, what: str) -> None:
        database = self.scene.database
        match what:
            case "progress":
                running.progress(database, claim, done=1)
            case "checkpoint":
                running.checkpoint(database, claim, lambda _: None)
            case "complete":
                ending.complete(database, claim)
                self._set(job, state="done")
            case "complete and go on":
                ending.complete(database, claim, follow_ups=[FollowUp(task=ONCE, payload=Payload(), key="follow-up")])
                self._set(job, state="done")
                if not any(j.key == "follow-up" and j.state in OPEN for j in self.jobs.values()):
                    (row,) = self.scene.look("SELECT id FROM jobs WHERE key = 'follow-up' AND state = 'pending'")
                    self._add(row["id"], ONCE, "follow-up", 100, ready=True)
            case "fail":
                ending.fail(database, claim, reason="wrong", error="wrong")
                self._set(job, state="failed")
            case "retry":
                self._retried(job, ending.retry(database, claim, error="busy"))
            case "orphan":
                assert workers.release(database, claim.worker_id, claim.job_id, claim.fence)
                self._set(job, state="pending", uncounted=job.uncounted + 1)
            case _:
                progressed = what == "hand over"
                self._handed_over(job, progressed, ending.hand_over(database, claim, progressed=progressed))

    def _retried(self, job: Job, again: bool) -> None:
        limit = policy(job.task).attempt_limit
        assert again == (limit is not None and job.attempts < limit)
        waits = policy(job.task).wait_after(job.attempts) > timedelta(0)
        self._set(job, **({"state": "pending", "ready": not waits} if again else {"state": "failed"}))

    def _handed_over(self, job: Job, progressed: bool, again: bool) -> None:
        declared = policy(job.task)
        if declared.max_recoveries is not None:
            spent = not progressed and job.recoveries >= declared.max_recoveries
            self._set(
                job,
                state="failed" if spent else "pending",
                uncounted=job.uncounted + 1,
                recoveries=job.recoveries + (not progressed and not spent),
            )
        else:
            spent = not progressed and job.attempts >= (declared.attempt_limit or 0)
            waits = not progressed and declared.wait_after(job.attempts) > timedelta(0)
            self._set(
                job,
                state="failed" if spent else "pending",
                ready=spent or not waits,
                uncounted=job.uncounted + progressed,
            )
        assert again != spent

    # -- what must hold

    @invariant()
    def rows_are_what_the_model_says(self) -> None:
        rows = {row["id"]: row for row in self.scene.look("SELECT * FROM jobs")}
        assert rows.keys() == self.jobs.keys()
        for job_id, job in self.jobs.items():
            row = rows[job_id]
            assert (row["state"], row["fence"], row["attempts"], row["recoveries"]) == (
                job.state,
                job.fence,
                job.attempts,
                job.recoveries,
            )
            if job.state == "pending":
                assert row["ready"] == job.ready
            assert row["fence"] >= self.fences[job_id]
            self.fences[job_id] = row["fence"]
            if job.state in ENDED:
                assert self.ended.setdefault(job_id, row) == row

    @invariant()
    def an_open_key_is_held_once(self) -> None:
        keys = Counter(job.key for job in self.jobs.values() if job.key and job.state in OPEN)
        assert all(count == 1 for count in keys.values())

    @invariant()
    def slots_are_held_by_those_who_run(self) -> None:
        slots = self.scene.look("SELECT job_id FROM gate_slots WHERE gate = 'narrow'")
        running_inside = {job.id for job in self.jobs.values() if job.task == GATED and job.state == "running"}
        assert {slot["job_id"] for slot in slots} - {None} == running_inside
        assert len(slots) == 2

    @invariant()
    def what_can_run_is_counted(self) -> None:
        ready = Counter(job.task for job in self.jobs.values() if job.state == "pending" and job.ready)
        if ready[GATED]:
            ready[GATED] = min(ready[GATED], self._free_slots())
        assert waking.runnable(self.scene.database, LANE, limit=1000) == +ready

    @invariant()
    def every_end_had_its_reaction_once(self) -> None:
        reacting = {TRIED, RECOVERED}
        ends = Counter((job.id, job.state) for job in self.jobs.values() if job.task in reacting and job.state in ENDED)
        assert Counter((seen.job_id, seen.outcome) for seen in self.reactions.seen) == ends

    # -- the model

    def _add(self, job_id: UUID, task: str, key: str | None, priority: int, *, ready: bool) -> None:
        self.order += 1
        self.jobs[job_id] = Job(job_id, self.order, task, key, priority, ready=ready)

    def _set(self, job: Job, **changes: Any) -> None:
        self.jobs[job.id] = replace(job, **changes)

    def _best(self, tasks: set[str], suspects: bool) -> Job | None:
        able = [
            job
            for job in self.jobs.values()
            if job.state == "pending"
            and job.ready
            and job.task in tasks
            and (suspects or job.recoveries == 0)
            and (job.task != GATED or self._free_slots())
        ]
        return min(able, key=lambda job: (job.priority, job.n), default=None)

    def _free_slots(self) -> int:
        return 2 - sum(job.task == GATED and job.state == "running" for job in self.jobs.values())

    def _is_live(self, claim: Claim) -> bool:
        job = self.jobs[claim.job_id]
        return job.state == "running" and job.fence == claim.fence

    def _live(self) -> list[Claim]:
        return [claim for claim in self.claims if self._is_live(claim)]

    def _stale(self) -> list[Claim]:
        return [claim for claim in self.claims if not self._is_live(claim)]


@pytest.mark.timeout(900)  # a failure is worth being made small
@pytest.mark.usefixtures("long_up")
def test_no_sequence_of_verbs_breaks_the_ledger(scene: Scene, reactions: Reactions) -> None:
    class Here(Ledger):
        pass

    Here.scene, Here.reactions = scene, reactions
    run_state_machine_as_test(
        Here,
        settings=settings(
            max_examples=30,
            stateful_step_count=40,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
