"""What a new version of a definition adds, changes and leaves out, by operation key and field path (D15)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from schema.enrichment.inventory import Field, Inventory, Operation

#: What of an operation or a field may change while it stays the same one.
_OF_OPERATION = ("summary", "description")
_OF_FIELD = ("type", "format", "values", "required", "title", "description")

_One = TypeVar("_One", Operation, Field)


@dataclass(frozen=True)
class Change:
    """One operation (`field` empty) or one field of it, and the names of what differs in it."""

    operation: str
    field: str = ""
    differs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Changes:
    """All differences, false when there are none; an operation that was added or is gone stands for its fields too."""

    added: tuple[Change, ...] = ()
    changed: tuple[Change, ...] = ()
    gone: tuple[Change, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.gone)


def compare(old: Inventory, new: Inventory) -> Changes:
    """From `old` to `new`: added and changed in the order of the new version, gone in that of the old one."""
    before = {operation.key: operation for operation in old.operations}
    after = {operation.key: operation for operation in new.operations}
    added, gone = _missing(after, before), _missing(before, after)
    changed: list[Change] = []
    for key, operation in after.items():
        if key not in before:
            continue
        if differs := _differs(before[key], operation, _OF_OPERATION):
            changed.append(Change(key, differs=differs))
        was, now = _fields(before[key]), _fields(operation)
        added += _missing(now, was, key)
        gone += _missing(was, now, key)
        changed += [
            Change(key, path, differs)
            for path, field in now.items()
            if path in was and (differs := _differs(was[path], field, _OF_FIELD))
        ]
    return Changes(tuple(added), tuple(changed), tuple(gone))


def _fields(operation: Operation) -> dict[str, Field]:
    return {field.key: field for field in (*operation.inputs, *operation.outputs)}


def _missing(these: Mapping[str, object], those: Mapping[str, object], operation: str = "") -> list[Change]:
    """What is among `these` and not among `those`: operations, or fields of one operation."""
    absent = [key for key in these if key not in those]
    return [Change(operation, key) if operation else Change(key) for key in absent]


def _differs(old: _One, new: _One, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in names if getattr(old, name) != getattr(new, name))
