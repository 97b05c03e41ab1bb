"""A worker killed at any instant: the run goes on elsewhere within seconds, and no answer is paid for twice (I7)."""

import random
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

import pytest

from actors.enrichment.request import Requested
from base.clock import monotonic
from schema.accounts import account
from schema.engine import Database
from tests.broker.until import until
from tests.enrichment.conftest import Set
from tests.enrichment.test_resuming import exported
from tests.enrichment.working import Bench, definition
from tests.fakes.llm_enriching import enriching
from tests.fakes.llm_server import LlmServer
from tests.reliability.figures import Figures, percentile
from tests.reliability.fleet import Fleet

#: One chunk each, and the overview.
_CHUNKS = 29
_PASSES = _CHUNKS + 1
#: When a pass is asked, when it is answered, when its answer is stored.
_MOMENTS = ("asked", "answered", "stored")
_DOCUMENT = definition({f"/p{number}": [f"CwpX{number}"] for number in range(_CHUNKS)})


class Kill(NamedTuple):
    """What one kill cost: seconds until the run ran again, and requests that need not have been."""

    wait: float
    repeated: int
    extra: int


@dataclass(frozen=True)
class Scene:
    """A fleet, and a model that takes its time, so that there is something to fall into."""

    database: Database
    fleet: Fleet
    model: LlmServer
    folder: Path

    def asked(self, name: str) -> tuple[Bench, Requested, int]:
        """A run in an account of its own, begun; and how many requests there were before it."""
        bench, before = Bench.of(self.database, account(self.database, name), _DOCUMENT), len(self.model.requests)
        requested = bench.ask()
        until(lambda: len(self.model.requests) > before, 30)
        return bench, requested, before

    def left_alone(self) -> list[bytes]:
        """What comes out of a run that nobody kills."""
        bench, requested, _ = self.asked("left alone")
        until(lambda: not bench.run(requested).open, 120)
        return exported(bench, requested, self.folder / "left alone")

    def killed(self, name: str, number: int, moment: str, whole: list[bytes]) -> Kill:
        """Kill the worker of a run at that moment of its pass of that number, and see it through."""
        bench, requested, before = self.asked(name)
        until(lambda: self._has_come(moment, requested.run_id, number, before), 60)
        victim = self.fleet.holder(requested.job_id)
        assert victim is not None, "the kill came too late"
        victim.kill()
        killed_at, sent = monotonic(), len(self.model.requests)
        left = _PASSES - self._checkpoints(requested.run_id)
        until(lambda: self.fleet.holder(requested.job_id) is not None, 30)
        wait = monotonic() - killed_at
        until(lambda: not bench.run(requested).open, 120)
        run = bench.run(requested)
        assert (run.state, run.reason, run.completed_items) == ("Completed", None, _PASSES)
        assert exported(bench, requested, self.folder / name) == whole
        asked = len(self.model.requests)
        return Kill(wait, repeated=asked - sent - left, extra=asked - before - _PASSES)

    def _has_come(self, moment: str, run_id: UUID, number: int, before: int) -> bool:
        calls = self.model.requests[before:]
        match moment:
            case "asked":
                return len(calls) > number
            case "answered":
                return len(calls) > number and calls[number].ended_at is not None
            case _:
                return self._checkpoints(run_id) > number

    def _checkpoints(self, run_id: UUID) -> int:
        query = "SELECT count(*) FROM enrichment_passes WHERE run_id = %s AND answer IS NOT NULL"
        return int(self.fleet.look(query, run_id)[0]["count"])


@pytest.fixture
def scene(database: Database, fleet: Fleet, model: LlmServer, set_to: Set, tmp_path: Path) -> Scene:
    set_to(semantic_enrichment__chunk_size_operations=1)
    model.default = enriching(piece=20, pace=0.01)
    return Scene(database, fleet, model, tmp_path)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("times", [5, pytest.param(50, marks=pytest.mark.long)])
def test_a_run_whose_worker_is_killed_goes_on_elsewhere_and_pays_nothing_twice(
    times: int, scene: Scene, figures: Figures
) -> None:
    seed = random.randrange(10**6)
    print(f"seed {seed}")  # noqa: T201  shown when it fails
    chance = random.Random(seed)
    scene.fleet.start().ready()
    whole = scene.left_alone()
    kills = []
    for number in range(times):
        scene.fleet.start().ready()
        kills.append(scene.killed(f"kill {number}", chance.randrange(_CHUNKS - 1), chance.choice(_MOMENTS), whole))
    again = percentile([kill.wait for kill in kills], 95)
    figures.row(
        "worker killed in a random pass of a run of 29 chunks: asked, answered or stored",
        kills=times,
        stored_passes_asked_again=sum(kill.repeated for kill in kills),
        extra_calls=sum(kill.extra for kill in kills),
        running_again_p95=f"{again:.1f} s",
    )
    assert all(kill.repeated == 0 for kill in kills), "a pass whose checkpoint was stored was asked again"
    assert all(kill.extra <= 1 for kill in kills), "more than the pass in flight was asked again"
    assert again < 5
