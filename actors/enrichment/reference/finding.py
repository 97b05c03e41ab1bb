"""What the tables of one reference say about a definition: each row about it becomes a glossary entry, scoped to the
endpoints it speaks of (D13). Runs in the child process that `lookup` starts.

A text whose scope is unknown to the definition, or that another row contradicts, is not used: a missing text is honest,
a wrong one is not.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypedDict

from actors.enrichment.reference import columns, tables
from actors.enrichment.reference.columns import Columns, Keyed
from actors.enrichment.reference.names import Names
from actors.enrichment.reference.rows import Row, Table
from clients.llm import words
from schema.enrichment.glossary import GlossaryEntry
from schema.enrichment.inventory import Operation

#: Sections of a reference that name endpoints of this definition make it a reference by endpoint when so many do.
_LEAST_SECTIONS = 2

Endpoints = tuple[str, ...]


class Found(TypedDict):
    """Plain values, fit to leave a child: glossary entries, the tokens they are about, a sentence on what was used.

    `told` is empty for a reference without tables. `broken_at`: where one that is called JSON is none and was read as
    text. `is_prose`: there is more to it than tables of this definition.
    """

    entries: list[dict[str, object]]
    tokens: list[str]
    told: str
    broken_at: str
    is_prose: bool


@dataclass(frozen=True)
class _Said:
    """What one row says of one key, and where."""

    key: str
    endpoints: Endpoints
    name: str
    meaning: str


@dataclass
class _Reading:
    """One reference: what its rows say, and how many of them are not used, by why."""

    said: list[_Said] = field(default_factory=list)
    is_about_definition: bool = False
    unused: Counter[str] = field(default_factory=Counter)

    def skip(self, why: str, rows: int = 1) -> None:
        self.unused[why] += rows


def find(reference: str, text: str, operations: Sequence[Operation]) -> Found:
    """Look every table of one reference up."""
    names = Names(operations)
    found = tables.read(reference, text)
    reading = _read(found, names)
    entries = [_entry(said, names) for said in _agreed(reading)]
    return Found(
        entries=[entry.model_dump() for entry in entries],
        tokens=sorted(_tokens(entries, names)),
        told=_told(reference, entries, reading, names) if found else "",
        broken_at=tables.broken_at(reference, text),
        is_prose=not (reading.is_about_definition and tables.is_tables_only(reference, text)),
    )


def _read(found: Sequence[Table], names: Names) -> _Reading:
    reading = _Reading()
    by_endpoint = _sectioned_level(found, names)
    for table in found:
        scope = _scope(table, names)
        if by_endpoint is not None and len(table.headings) > by_endpoint and not scope:
            reading.skip("stand under an endpoint that is not in this definition", len(table.rows))
            continue
        if located := columns.find(table, names):
            reading.is_about_definition = True
            _read_rows(reading, table, located, scope, names)
        elif not _read_endpoints(reading, table, names):
            reading.skip("name nothing in this definition", len(table.rows))
    return reading


def _sectioned_level(found: Sequence[Table], names: Names) -> int | None:
    """The depth of the headings that name endpoints, in a reference written endpoint by endpoint."""
    depths = Counter(
        depth
        for headings in {table.headings for table in found}
        for depth, heading in enumerate(headings)
        if names.endpoints_of_heading(heading)
    )
    [(depth, sections)] = depths.most_common(1) or [(0, 0)]
    return depth if sections >= _LEAST_SECTIONS else None


def _scope(table: Table, names: Names) -> Endpoints:
    """The endpoints named by the innermost heading that names any."""
    return next((ends for heading in reversed(table.headings) if (ends := names.endpoints_of_heading(heading))), ())


def _read_rows(
    reading: _Reading, table: Table, located: tuple[Columns, Sequence[Keyed]], scope: Endpoints, names: Names
) -> None:
    found, keyed = located
    reading.skip("name nothing in this definition", max(0, len(table.rows) - len(keyed)))
    schema = next((name for heading in reversed(table.headings) if (name := names.schema(heading))), "")
    for one in keyed:
        named = one.row.get(found.scope, "") if found.scope else ""
        endpoints = names.endpoints(named) if named else scope
        if named and not endpoints:
            reading.skip("speak of an endpoint that is not in this definition")
            continue
        said = list(_said(one, found, endpoints, schema, names))
        reading.said.extend(said)
        if not said:
            reading.skip("have no text, or none for where the name stands")


def _said(one: Keyed, found: Columns, endpoints: Endpoints, schema: str, names: Names) -> Iterator[_Said]:
    text = one.row.get(found.meaning, "") if found.meaning else ""
    for key in one.match.keys:
        meaning = "" if words.fold(text) == words.fold(key) else text
        name = _name(key, one.row, found)
        if meaning or name:
            for narrowed, ends in _narrowed(key, endpoints, schema, names):
                yield _Said(narrowed, ends, name, meaning)


def _narrowed(key: str, endpoints: Endpoints, schema: str, names: Names) -> Iterator[tuple[str, Endpoints]]:
    """Where a text holds: at its endpoints, and under a heading that names a schema only for that schema's fields."""
    places = [place for place in names.places[key] if not endpoints or place.endpoint in endpoints]
    inside = [place for place in places if place.field.schema_name == schema] if schema else places
    if len(inside) == len(places):
        if places:
            yield key, endpoints
        return
    paths: dict[str, dict[str, None]] = defaultdict(dict)
    for place in inside:
        paths[place.field.path][place.endpoint] = None
    for path, ends in paths.items():
        yield path, tuple(ends)


def _name(key: str, row: Row, found: Columns) -> str:
    """A readable name that says more than the words of the token do, or nothing."""
    for column in (found.name, found.key):
        cell = row.get(column, "") if column else ""
        if not cell or words.repeats_identifier(cell, key):
            continue
        alike = words.fold(cell) == words.fold(key)
        readable = cell if " " in cell else words.name(words.recut(key, cell) if alike else cell)
        if words.fold(readable) != words.fold(words.name(key)) or len(readable.split()) > len(words.split(key)):
            return readable
    return ""


def _read_endpoints(reading: _Reading, table: Table, names: Names) -> bool:
    """A table that describes the endpoints themselves: one column names them, another says what they do."""
    best, most = "", 0
    for column in table.columns:
        named = {ends for row in table.rows if (ends := names.endpoints(row.get(column, "")))}
        if len(named) > most:
            best, most = column, len(named)
    if most < _LEAST_SECTIONS:
        return False
    others = [column for column in table.columns if column != best]
    prose = max(others, key=lambda column: sum(len(row.get(column, "")) for row in table.rows), default="")
    for row in table.rows:
        endpoints, meaning = names.endpoints(row.get(best, "")), row.get(prose, "") if prose else ""
        reading.said.extend(_Said(one, (one,), "", meaning) for one in endpoints if " " in meaning)
    return True


def _agreed(reading: _Reading) -> Iterator[_Said]:
    """One text per key and place; where rows contradict each other none."""
    groups: dict[tuple[str, Endpoints], list[_Said]] = defaultdict(list)
    for said in reading.said:
        groups[said.key, said.endpoints].append(said)
    for same in groups.values():
        meanings = {words.fold(said.meaning): said.meaning for said in same if said.meaning}
        longest = max(meanings.values(), key=len, default="")
        if any(meaning not in words.fold(longest) for meaning in meanings):
            reading.skip("contradict each other", len(same))
            continue
        name = next((said.name for said in same if said.name), "")
        yield _Said(same[0].key, same[0].endpoints, name, longest)


def _entry(said: _Said, names: Names) -> GlossaryEntry:
    kind = names.kind(said.key) if said.key in names.places else "endpoint"
    ends = () if kind == "endpoint" else said.endpoints
    return GlossaryEntry(key=said.key, kind=kind, name=said.name, meaning=said.meaning, endpoints=ends, source="lookup")


def _tokens(entries: Iterable[GlossaryEntry], names: Names) -> set[str]:
    return {names.places[entry.key][0].field.token for entry in entries if entry.key in names.places}


def _told(reference: str, entries: Sequence[GlossaryEntry], reading: _Reading, names: Names) -> str:
    found = len(_tokens(entries, names))
    meant = len(_tokens([entry for entry in entries if entry.meaning], names))
    told = f"{reference}: {found} of {len(names.tokens)} names found in its tables, {meant} with a meaning"
    unused = sum(reading.unused.values())
    if not unused:
        return f"{told}."
    why = ", ".join(f"{count} {reason}" for reason, count in reading.unused.most_common() if count)
    return f"{told}; {unused} rows not used ({why})."
