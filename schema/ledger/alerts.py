"""Alerts: one open row per source and cause, counted; what a person acknowledged stays as it was."""

from datetime import datetime
from typing import Literal, NamedTuple
from uuid import UUID

from sqlalchemy import Connection, text

#: How bad it is: somebody should look, or something does not work.
Severity = Literal["warning", "critical"]

_RAISE = text(
    """
    INSERT INTO alerts AS a (id, source, cause, severity, text) VALUES (:id, :source, :cause, :severity, :text)
    ON CONFLICT (source, cause) WHERE acknowledged_at IS NULL
    DO UPDATE SET count = a.count + 1, last_at = clock_timestamp(), severity = excluded.severity, text = excluded.text
    """
)
_OPEN = text(
    """
    SELECT source, cause, severity, text, count, first_at, last_at FROM alerts
    WHERE acknowledged_at IS NULL ORDER BY source, cause LIMIT :limit
    """
)


class Alert(NamedTuple):
    """One that nobody has acknowledged yet. `text` is what was said last."""

    source: str
    cause: str
    severity: Severity
    text: str
    times: int
    first_at: datetime
    last_at: datetime


def raise_alert(
    connection: Connection, alert_id: UUID, *, source: str, cause: str, severity: Severity, said: str
) -> None:
    """Count the open alert of that source and cause once more, or open one under that id."""
    connection.execute(_RAISE, {"id": alert_id, "source": source, "cause": cause, "severity": severity, "text": said})


def open_alerts(connection: Connection, limit: int) -> list[Alert]:
    """Those that nobody has acknowledged."""
    return [Alert(*row) for row in connection.execute(_OPEN, {"limit": limit})]
