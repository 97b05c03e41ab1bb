"""What counts as an answer: JSON of the agreed shape, about what was asked, cleaned, and better than nothing.

The finish of a completion is read before any of this (D2): only a text that ended by itself gets here, so what looks
complete is complete. Fences and surrounding prose are forgiven, cut JSON never is.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, TypeVar

import orjson
from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from actors.enrichment import cleaning, facts
from actors.enrichment.asking import AskedField, AskedOperation, Operations
from clients.llm.words import no_better_than_identifier, repeats_identifier
from schema.enrichment.glossary import GlossaryEntry, Kind

_FENCE = re.compile(r"^`{3,}[^\n`]*\n(.*)^`{3,}", re.DOTALL | re.MULTILINE)

#: Whether a name is no name: (suggested, identifier).
NameGate = Callable[[str, str], bool]


class InvalidAnswer(Exception):
    """The text is no answer to what was asked; the message says why, for a person."""


class NoObject(InvalidAnswer):
    """There is no JSON object in the text; perhaps no text."""


class _Stored(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class FieldAnswer(_Stored):
    """What was accepted for one field; both empty: the model answered that it does not know."""

    name: str | None = None
    description: str | None = None


class OperationAnswer(_Stored):
    """What was answered for one operation. A field that is absent was not answered; nor was the name unless `named`."""

    named: bool = False
    name: str | None = None
    fields: dict[str, FieldAnswer] = {}


class MappingAnswer(_Stored):
    """What was accepted for the mapping itself."""

    name: str | None = None
    description: str | None = None


class ChunkAnswer(_Stored):
    """The accepted part of one answer, by operation key and field key: the checkpoint of a chunk (D5).

    `dropped` counts names that were no better than their identifiers, `unasked` answers nobody asked for (D7).
    """

    operations: dict[str, OperationAnswer] = {}
    mapping: MappingAnswer | None = None
    dropped: int = 0
    unasked: int = 0

    def unanswered(self, operations: Operations) -> Operations:
        """What of these was asked and is not answered here; null is an answer (D7)."""
        return tuple(
            rest
            for asked in operations
            if (rest := _rest(asked, self.operations.get(asked.operation.key, OperationAnswer()))).size
        )


class DigestAnswer(_Stored):
    """The glossary a digest made; its checkpoint."""

    entries: tuple[GlossaryEntry, ...]


def gate(provider: str) -> NameGate:
    """A model's name has to say more than the identifier; the offline model's may say it in words (D7, D12)."""
    return repeats_identifier if provider == "offline" else no_better_than_identifier


def read_chunk(text: str, operations: Operations, is_no_name: NameGate, *, with_mapping: bool = False) -> ChunkAnswer:
    """The accepted part of an answer to a chunk.

    Raises:
        InvalidAnswer: no JSON object, or one with neither `endpoints` nor `fields`.
    """
    said = _object(text)
    if not {"endpoints", "fields"} & said.keys():
        raise InvalidAnswer("it is JSON without `endpoints` and `fields`")
    endpoints, fields = facts.ids(operations)
    reading = _Reading(is_no_name)
    for endpoint in _entries(said.get("endpoints"), _Endpoint):
        reading.endpoint(endpoint, endpoints.get(endpoint.id))
    for field in _entries(said.get("fields"), _Field):
        reading.field(field, fields.get(field.id))
    mapping = _mapping(said.get("mapping")) if with_mapping else None
    return ChunkAnswer(operations=reading.accepted(), mapping=mapping, dropped=reading.dropped, unasked=reading.unasked)


def read_overview(text: str) -> MappingAnswer:
    """The answer to the overview pass.

    Raises:
        InvalidAnswer: no JSON object, or one with neither `name` nor `description`.
    """
    answer = _mapping(_object(text))
    if answer is None:
        raise InvalidAnswer("it is JSON without `name` and `description`")
    return answer


def read_digest(text: str) -> DigestAnswer:
    """The entries of a digest that can be used; may be none.

    Raises:
        InvalidAnswer: no JSON object, or one without `entries`.
    """
    said = _object(text)
    if not isinstance(said.get("entries"), list):
        raise InvalidAnswer("it is JSON without `entries`")
    return DigestAnswer(
        entries=tuple(
            GlossaryEntry(
                key=one.key.strip(),
                kind=one.kind,
                meaning=meaning,
                endpoints=tuple(cleaning.name(place) for place in one.endpoints if place.strip()),
                note=cleaning.description(one.note or ""),
                source="digest",
            )
            for one in _entries(said["entries"], _Entry)
            if one.key.strip() and (meaning := cleaning.description(one.meaning))
        )
    )


class _Loose(BaseModel):
    """One entry of an answer as models write them: what is too much is ignored."""

    model_config = ConfigDict(extra="ignore", coerce_numbers_to_str=True)


Entry = TypeVar("Entry", bound=_Loose)


class _Endpoint(_Loose):
    id: str
    name: str | None = None


class _Field(_Loose):
    id: str
    name: str | None = None
    description: str | None = None


def _or_none(value: Any) -> Any:
    return value or ()


class _Entry(_Loose):
    key: str
    kind: Kind = "field"
    meaning: str
    endpoints: Annotated[tuple[str, ...], BeforeValidator(_or_none)] = ()
    note: str | None = None


class _Reading:
    """Gathers what is accepted; the first answer for an id counts, as everywhere (E24)."""

    def __init__(self, is_no_name: NameGate) -> None:
        self._is_no_name = is_no_name
        self._names: dict[str, str | None] = {}
        self._fields: dict[str, dict[str, FieldAnswer]] = {}
        self.dropped = 0
        self.unasked = 0

    def endpoint(self, said: "_Endpoint", asked: AskedOperation | None) -> None:
        if asked is None:
            self.unasked += 1
            return
        operation = asked.operation
        self._names.setdefault(operation.key, self._name(said.name, operation.operation_id or operation.path))

    def field(self, said: "_Field", asked: tuple[str, AskedField] | None) -> None:
        if asked is None:
            self.unasked += 1
            return
        key, one = asked
        fields = self._fields.setdefault(key, {})
        if one.field.key not in fields:
            fields[one.field.key] = FieldAnswer(
                name=self._name(said.name, one.field.token) if one.name else None,
                description=_description(said.description, one.field.token) if one.description else None,
            )

    def accepted(self) -> dict[str, OperationAnswer]:
        return {
            key: OperationAnswer(named=key in self._names, name=self._names.get(key), fields=self._fields.get(key, {}))
            for key in dict.fromkeys((*self._names, *self._fields))
        }

    def _name(self, said: str | None, identifier: str) -> str | None:
        name = cleaning.name(said or "")
        if name and self._is_no_name(name, identifier):
            self.dropped += 1
            return None
        return name or None


def _description(said: str | None, token: str) -> str | None:
    text = cleaning.description(said or "")
    return None if repeats_identifier(text, token) else text


def _mapping(said: object) -> MappingAnswer | None:
    if not isinstance(said, Mapping) or not {"name", "description"} & said.keys():
        return None
    name, description = said.get("name"), said.get("description")
    return MappingAnswer(
        name=(cleaning.name(name) if isinstance(name, str) else "") or None,
        description=(cleaning.description(description) if isinstance(description, str) else "") or None,
    )


def _rest(asked: AskedOperation, answer: OperationAnswer) -> AskedOperation:
    missing = frozenset(one.field.key for one in asked.fields if one.field.key not in answer.fields)
    return asked.having(missing, name=asked.name and not answer.named)


def _entries(said: object, kind: type[Entry]) -> Iterator[Entry]:
    """The entries of a list that have the right shape; one broken entry costs that entry only."""
    for one in said if isinstance(said, list) else []:
        try:
            yield kind.model_validate(one)
        except ValidationError:
            continue


def _object(text: str) -> dict[str, Any]:
    """The JSON object a text is, is fenced as, or is wrapped around by prose."""
    if not text.strip():
        raise NoObject("it is empty")
    for candidate in _candidates(text):
        try:
            said = orjson.loads(candidate)
        except orjson.JSONDecodeError:
            said = _lenient(candidate)
        if isinstance(said, dict):
            return said
    raise NoObject("it is no JSON object")


def _candidates(text: str) -> Sequence[str]:
    fenced = _FENCE.search(text)
    start, end = text.find("{"), text.rfind("}")
    return [text, *([fenced[1]] if fenced else []), *([text[start : end + 1]] if 0 <= start < end else [])]


def _lenient(text: str) -> object:
    """Control characters inside strings and lone surrogates, which small models write and orjson refuses."""
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
