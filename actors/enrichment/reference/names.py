"""Which names of a definition a reference can mean: tokens, field paths and endpoints, matched tolerantly but never
ambiguously.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from clients.llm.words import fold
from schema.enrichment.glossary import Kind
from schema.enrichment.inventory import Field, Operation

#: Longest cell that may be a name.
_NAME_CHARACTERS = 120
#: Shortest name of a schema, or last part of a path, that a heading may be recognised by.
_LEAST_RECOGNISED = 4
_PARAMETER_PREFIX = "p_"
_PARAMETERS = frozenset(["path", "query", "header", "cookie", "form"])


def endpoint(operation: Operation) -> str:
    """An operation as a glossary names it: `GET /x`."""
    return f"{operation.method.upper()} {operation.path}"


@dataclass(frozen=True)
class Place:
    """Where a field stands: its endpoint and the named schema around it."""

    endpoint: str
    field: Field


@dataclass(frozen=True)
class Match:
    """The keys a cell means, and whether it writes one of them exactly so."""

    keys: tuple[str, ...]
    exact: bool


class Names:
    """The names of one definition."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        self.operations = tuple(operations)
        self.places: dict[str, list[Place]] = defaultdict(list)
        paths: dict[str, list[Place]] = defaultdict(list)
        for operation in operations:
            for field in (*operation.inputs, *operation.outputs):
                place = Place(endpoint(operation), field)
                self.places[field.token].append(place)
                if field.path != field.token:
                    paths[field.path].append(place)
        self.tokens = frozenset(self.places)
        self.places |= {path: places for path, places in paths.items() if path not in self.tokens}
        self._folded: dict[str, list[str]] = defaultdict(list)
        self._prefixed: dict[str, list[str]] = defaultdict(list)
        for token in self.places:
            self._folded[fold(token)].append(token)
            if token.lower().startswith(_PARAMETER_PREFIX):
                self._prefixed[fold(token[len(_PARAMETER_PREFIX) :])].append(token)

    def match(self, cell: str) -> Match | None:
        """The tokens (or field paths) that a cell means: written so, or alike but for case, underscores and blanks.

        `p_act` and `act` mean each other only where just one of them is a name of this definition.
        """
        name = cell.strip().strip("{}`\"'<>")
        if not 0 < len(name) <= _NAME_CHARACTERS:
            return None
        folded = fold(name)
        if alike := self._folded.get(folded):
            return Match(tuple(alike), exact=name in alike)
        if name.lower().startswith(_PARAMETER_PREFIX):
            other = self._folded.get(fold(name[len(_PARAMETER_PREFIX) :]), [])
        else:
            other = self._prefixed.get(folded, [])
        return Match(tuple(other), exact=False) if len(other) == 1 and folded else None

    def kind(self, key: str) -> Kind:
        """`parameter` for what only ever is one, else `field`."""
        return "parameter" if all(place.field.location in _PARAMETERS for place in self.places[key]) else "field"

    def endpoints(self, text: str) -> tuple[str, ...]:
        """The endpoints that a cell or heading names: by path, with or without the method, or by operation id."""
        said = text.strip().strip("`\"'")
        found = self._by_name.get(said.casefold()) or self._by_name.get(said.rstrip("/").casefold())
        if found or "/" not in said:
            return found or ()
        words = [word.strip("`\"',:()") for word in said.split()]
        named = [self._by_name[word.casefold()] for word in words if "/" in word and word.casefold() in self._by_name]
        methods = {word.upper() for word in words}
        every = tuple(one for group in named for one in group)
        return tuple(one for one in every if one.split(" ", 1)[0] in methods) or every

    def endpoints_of_heading(self, heading: str) -> tuple[str, ...]:
        """As `endpoints`, and by the last part of a path alone: a section `adresse` speaks of `/api/v1/adresse`."""
        return self.endpoints(heading) or self._by_last_part.get(fold(heading), ())

    def schema(self, heading: str) -> str:
        """The longest name of a schema that a heading holds: `Batch Header Record` holds `BatchHeader`; or empty."""
        said = fold(heading)
        return next((name for folded, name in self._schemas if folded in said), "")

    @cached_property
    def _schemas(self) -> tuple[tuple[str, str], ...]:
        """Folded and as written, the longest first."""
        names = {place.field.schema_name for places in self.places.values() for place in places}
        long_enough = [(fold(name), name) for name in names if len(fold(name)) >= _LEAST_RECOGNISED]
        return tuple(sorted(long_enough, key=lambda pair: (-len(pair[0]), pair)))

    @cached_property
    def _by_name(self) -> dict[str, tuple[str, ...]]:
        return _grouped(pair for operation in self.operations for pair in _names_of(operation))

    @cached_property
    def _by_last_part(self) -> dict[str, tuple[str, ...]]:
        parts = ((fold(_last_part(operation.path)), endpoint(operation)) for operation in self.operations)
        return _grouped((part, one) for part, one in parts if len(part) > 1)


def _names_of(operation: Operation) -> Iterator[tuple[str, str]]:
    whole = endpoint(operation)
    yield whole.casefold(), whole
    yield operation.path.rstrip("/").casefold() or "/", whole
    if operation.operation_id:
        yield operation.operation_id.casefold(), whole


def _last_part(path: str) -> str:
    parts = [part for part in path.split("/") if part and not part.startswith("{")]
    return parts[-1] if parts else ""


def _grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    groups: dict[str, dict[str, None]] = defaultdict(dict)
    for key, value in pairs:
        groups[key][value] = None
    return {key: tuple(values) for key, values in groups.items()}
