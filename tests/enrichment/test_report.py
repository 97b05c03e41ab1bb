"""What a run tells its operator: every failure and every conflict, however many (E23, D14)."""

from actors.enrichment import report
from actors.enrichment.execution import Harvest
from actors.enrichment.merger import Renamed


def test_every_failure_and_every_conflict_is_told() -> None:
    harvest = Harvest(failures={f"chunk {number}": "It failed." for number in range(50)})
    renamed = [Renamed(f"t{number}", "This", ("That",)) for number in range(50)]
    told = report.warnings(harvest, renamed, ())
    assert [one.code for one in told] == ["item_failed"] * 50 + ["one_name_for_one_thing"] * 50
    assert told[49].text == "chunk 49: It failed."
    assert told[99].text.startswith("`t49`")
