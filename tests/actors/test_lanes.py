"""Which lanes there are is the pipelines' affair."""

import actors
from tests.broker import steps_under_test


def test_a_step_of_nobodys_pipeline_has_no_lane_here() -> None:
    assert steps_under_test.LANE not in actors.lanes()
    assert "enrichment" in actors.lanes()
