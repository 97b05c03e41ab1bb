"""Progress and checkpoints of a run (I7)."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.exc import DataError

from base.errors import ClaimLost
from ledger import ending, running
from tests.ledger.scene import Scene


def _mark(connection: Connection) -> int:
    return connection.execute(text("UPDATE job_bodies SET reduced = true")).rowcount


def test_progress_moves_and_keeps_what_it_is_not_told(scene: Scene) -> None:
    claim = scene.hold(total_items=9)
    before = scene.row(claim.job_id)
    running.progress(scene.database, claim, done=2)
    after = scene.row(claim.job_id)
    assert (after["done_items"], after["total_items"]) == (2, 9)
    assert after["progress_at"] > before["progress_at"]
    running.progress(scene.database, claim)
    assert scene.row(claim.job_id)["done_items"] == 2
    assert scene.row(claim.job_id)["progress_at"] > after["progress_at"]


def test_a_checkpoint_is_committed_answers_and_counts_as_progress(scene: Scene) -> None:
    claim = scene.hold()
    before = scene.row(claim.job_id)
    assert running.checkpoint(scene.database, claim, _mark) == 1
    assert scene.look("SELECT reduced FROM job_bodies") == [{"reduced": True}]
    assert scene.row(claim.job_id)["progress_at"] > before["progress_at"]


def test_a_refused_checkpoint_leaves_the_run_as_it_was(scene: Scene) -> None:
    def refused(connection: Connection) -> None:
        _mark(connection)
        connection.execute(text("SELECT CAST('no number' AS integer)"))

    claim = scene.hold()
    before = scene.row(claim.job_id)
    with pytest.raises(DataError):
        running.checkpoint(scene.database, claim, refused)
    assert scene.look("SELECT reduced FROM job_bodies") == [{"reduced": False}]
    assert scene.row(claim.job_id) == before
    ending.complete(scene.database, claim)


def test_a_cancel_waits_for_the_checkpoint_before_it_and_refuses_the_one_after(scene: Scene) -> None:
    claim = scene.hold()
    writing, go_on = Event(), Event()

    def slow(connection: Connection) -> None:
        _mark(connection)
        writing.set()
        assert go_on.wait(4)

    with ThreadPoolExecutor(2) as pool:
        checkpoint = pool.submit(running.checkpoint, scene.database, claim, slow)
        assert writing.wait(4)
        cancel = pool.submit(ending.cancel, scene.database, scene.account_id, claim.job_id, by="a test")
        scene.wait_until_somebody_waits_for_a_lock()
        go_on.set()
        checkpoint.result(4)
        assert cancel.result(4).answer == "accepted"
    assert scene.look("SELECT reduced FROM job_bodies") == [{"reduced": True}]
    with pytest.raises(ClaimLost):
        running.checkpoint(scene.database, claim, _mark)
