"""References that are tables, looked up by the definition's own names: no model, nothing invented (D13).

Tables are read where a stranger's text can do no harm: a child process that is stopped when it takes too long.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import cast

from actors.enrichment.reference.finding import Found
from base import child
from schema.enrichment.glossary import GlossaryEntry
from schema.enrichment.inventory import InventoryWarning, Operation

WARNING = "reference_lookup"
BROKEN = "reference_broken"
#: Longest lookup of one reference; one of 13 MB with 200,000 rows takes a tenth of it.
TIMEOUT = timedelta(seconds=30)
_FINDER = "actors.enrichment.reference.finding:find"


@dataclass(frozen=True)
class Lookup:
    """What was found. `found` of the `total` names (tokens) of the definition have an entry.

    `prose` is what is left for a digest: references that are not tables of this definition's names from end to end.
    """

    entries: tuple[GlossaryEntry, ...]
    found: int
    total: int
    warnings: tuple[InventoryWarning, ...]
    prose: tuple[tuple[str, str], ...]


def lookup(
    references: Sequence[tuple[str, str]], operations: Sequence[Operation], *, timeout: timedelta = TIMEOUT
) -> Lookup:
    """Look every table of the references (name, text) up; where two contradict each other the first one counts.

    A reference that can't be looked up in time is left to the digest, with a warning. Blocks, a child each.
    """
    entries: dict[tuple[str, tuple[str, ...]], GlossaryEntry] = {}
    tokens: set[str] = set()
    warnings: list[InventoryWarning] = []
    prose: list[tuple[str, str]] = []
    for reference, text in references:
        found = _found(reference, text, operations, timeout)
        tokens.update(found["tokens"])
        for row in found["entries"]:
            entry = GlossaryEntry.model_validate(row)
            entries.setdefault((entry.key, entry.endpoints), entry)
        if found["broken_at"]:
            warnings.append(InventoryWarning(code=BROKEN, text=_broken(reference, found["broken_at"])))
        if found["told"]:
            warnings.append(InventoryWarning(code=WARNING, text=found["told"]))
        if found["is_prose"]:
            prose.append((reference, text))
    total = len({field.token for one in operations for field in (*one.inputs, *one.outputs)})
    return Lookup(tuple(entries.values()), len(tokens), total, tuple(warnings), tuple(prose))


def _found(reference: str, text: str, operations: Sequence[Operation], timeout: timedelta) -> Found:
    try:
        return cast("Found", child.run(_FINDER, reference, text, tuple(operations), timeout=timeout))
    except child.TimedOut:
        why = f"it took longer than {timeout.total_seconds():g} s"
    except child.ChildFailed:
        why = "its tables can't be read"
    told = f"{reference}: not looked up, {why}. Give a smaller table."
    return Found(entries=[], tokens=[], told=told, broken_at="", is_prose=True)


def _broken(reference: str, where: str) -> str:
    return (
        f"{reference} is no valid JSON at {where}, so it was read as plain text, not as a table. Repair it "
        "there and run again."
    )
