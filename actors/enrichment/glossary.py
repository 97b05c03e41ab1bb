"""What is known about a definition's tokens, from the user, from looked-up tables and from the digest, and which of it
a chunk gets to see (E13, E20, D13, D14).
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from actors.enrichment.asking import AskedOperation
from schema.enrichment.glossary import GlossaryEntry
from schema.enrichment.inventory import Field, Operation

_TRUST = {"user": 0, "lookup": 1, "digest": 2}


def endpoint(operation: Operation) -> str:
    """How a glossary writes an operation: `GET /x`."""
    return f"{operation.method.upper()} {operation.path}"


class Glossary:
    """All entries of a run. Where two speak of the same token at the same place the more trusted one counts: the
    user's own, then what was looked up, then what a model distilled.
    """

    def __init__(self, entries: Iterable[GlossaryEntry] = ()) -> None:
        self.entries = tuple(sorted(entries, key=lambda entry: _TRUST[entry.source]))
        self._by_key: dict[str, list[GlossaryEntry]] = defaultdict(list)
        for entry in self.entries:
            self._by_key[entry.key.casefold()].append(entry)

    def __bool__(self) -> bool:
        return bool(self.entries)

    def slice(self, operations: Sequence[AskedOperation]) -> tuple[GlossaryEntry, ...]:
        """The entries that speak of these operations' endpoints, fields, parameters and codes (E20).

        A scoped entry is in only when one of its endpoints is; one that a more trusted entry silences everywhere
        here is not.
        """
        found = {
            id(entry)
            for asked in operations
            for key in _keys(asked)
            for entry in self._heard(key, endpoint(asked.operation))
        }
        return tuple(entry for entry in self.entries if id(entry) in found)

    def meaning(self, operation: Operation, field: Field) -> GlossaryEntry | None:
        """The entry that says what a field means there: the most trusted, and among equals the scoped one."""
        return min((entry for entry in self._of_field(operation, field) if entry.meaning), key=_rank, default=None)

    def is_scoped(self, field: Field) -> bool:
        """Whether the token means different things on different endpoints, as far as the glossary knows (E24)."""
        entries = self._by_key.get(field.token.casefold(), []) + self._by_key.get(field.path.casefold(), [])
        return any(entry.endpoints for entry in entries)

    def user_entry(self, operation: Operation, field: Field) -> GlossaryEntry | None:
        """What the user's own glossary says about a field: the last word on it (D14)."""
        said = (entry for entry in self._of_field(operation, field) if entry.source == "user")
        return min(said, key=_rank, default=None)

    def user_endpoint(self, operation: Operation) -> GlossaryEntry | None:
        """What the user's own glossary says about an endpoint."""
        heard = (entry for key in _endpoint_keys(operation) for entry in self._heard(key, endpoint(operation)))
        return next((entry for entry in heard if entry.source == "user" and entry.kind == "endpoint"), None)

    def _of_field(self, operation: Operation, field: Field) -> list[GlossaryEntry]:
        place = endpoint(operation)
        return [entry for key in (field.path, field.token) for entry in self._heard(key, place)]

    def _heard(self, key: str, place: str) -> list[GlossaryEntry]:
        """Entries for a key at an endpoint, the most trusted meaning and all that is trusted as much or more.

        An entry without a meaning is a hint for the name alone and silences nobody.
        """
        known = self._by_key.get(key.casefold())
        if known is None:
            return []
        entries = [entry for entry in known if entry.holds_at(place)]
        trusted = min((_TRUST[entry.source] for entry in entries if entry.meaning), default=_TRUST["digest"])
        return [entry for entry in entries if _TRUST[entry.source] <= trusted]


def _rank(entry: GlossaryEntry) -> tuple[int, bool]:
    return _TRUST[entry.source], not entry.endpoints


def _keys(asked: AskedOperation) -> Iterator[str]:
    yield from _endpoint_keys(asked.operation)
    for one in asked.fields:
        yield one.field.token
        yield one.field.path
        yield from one.field.values


def _endpoint_keys(operation: Operation) -> Iterator[str]:
    yield endpoint(operation)
    yield operation.path
    if operation.operation_id:
        yield operation.operation_id
