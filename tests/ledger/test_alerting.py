"""An alert is one open row per source and cause, until somebody acknowledges it."""

import pytest
from psycopg.errors import CheckViolation

from ledger.alerting import open_alerts, raise_alert
from tests.ledger.scene import Scene


def _raise(scene: Scene, text: str, cause: str = "silence") -> None:
    raise_alert(scene.database, source="test", cause=cause, severity="warning", text=text)


def test_raised_again_it_counts_and_says_what_was_said_last(scene: Scene) -> None:
    _raise(scene, "first")
    _raise(scene, "then")
    _raise(scene, "other", "noise")
    noise, silence = open_alerts(scene.database)
    assert (noise.cause, noise.times) == ("noise", 1)
    assert (silence.cause, silence.times, silence.text, silence.severity) == ("silence", 2, "then", "warning")
    assert silence.first_at < silence.last_at


def test_acknowledged_it_stays_and_the_next_is_another(scene: Scene) -> None:
    _raise(scene, "first")
    scene.change("UPDATE alerts SET acknowledged_at = now(), acknowledged_by = 'a person'")
    assert open_alerts(scene.database) == []
    _raise(scene, "again")
    (alert,) = open_alerts(scene.database)
    assert (alert.text, alert.times) == ("again", 1)
    assert [row["text"] for row in scene.look("SELECT text FROM alerts ORDER BY id")] == ["first", "again"]


def test_it_holds_no_secret(scene: Scene) -> None:
    _raise(scene, "amqp://guest:hunter2@broker is away")
    assert "hunter2" not in open_alerts(scene.database)[0].text


@pytest.mark.parametrize("wrong", ["severity = 'bad'", "acknowledged_at = now()", "count = 0"])
def test_a_row_that_contradicts_itself_is_refused(scene: Scene, wrong: str) -> None:
    _raise(scene, "first")
    with pytest.raises(CheckViolation):
        scene.change(f"UPDATE alerts SET {wrong}")
