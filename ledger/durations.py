"""How long jobs took: what the broker's ack timeout is sized against."""

from datetime import timedelta

from schema.engine import Database
from schema.ledger import durations

#: Of the jobs that took several claims, the oldest hold the longest.
_LOOKED_AT = 100


def longest(database: Database, within: timedelta) -> timedelta | None:
    """The longest job that ended within that time, over all accounts; None: none did.

    Raises:
        DatabaseAway: it can't be asked now.
    """
    found = [durations.in_one_claim(database, within)]
    for account_id, jobs in durations.claimed_again(database, within, _LOOKED_AT):
        with database.account(account_id) as connection:
            found.append(durations.from_the_first(connection, jobs))
    return max((one for one in found if one is not None), default=None)
