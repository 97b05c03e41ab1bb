"""Alerts: what a person should see and no job can say. Raised again it counts; nothing is said twice in two rows."""

from base import logs
from base.ids import uuid7
from ledger.scrubbing import storable
from schema.engine import Database
from schema.ledger import alerts
from schema.ledger.alerts import Alert, Severity

__all__ = ["Alert", "Severity", "open_alerts", "raise_alert"]

#: More open alerts than anybody reads.
_MOST = 100

log = logs.get(__name__)


def raise_alert(database: Database, *, source: str, cause: str, severity: Severity, text: str) -> None:
    """Have a person see this, until somebody acknowledges it.

    `source` is who says it and `cause` why, both literal codes; `text` is a sentence that says what to do.

    Raises:
        DatabaseAway: it can't be written now; it is in the log.
    """
    said = storable(text)
    log.error("alert", source=source, cause=cause, severity=severity, text=said)
    with database.engine() as connection:
        alerts.raise_alert(connection, uuid7(), source=source, cause=cause, severity=severity, said=said)


def open_alerts(database: Database) -> list[Alert]:
    """Those that nobody has acknowledged, by source and cause."""
    with database.engine(read_only=True) as connection:
        return alerts.open_alerts(connection, _MOST)
