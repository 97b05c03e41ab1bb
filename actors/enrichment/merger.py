"""One proposal out of many answers: what is the same is suggested once, the first successful answer in plan order
wins, and one thing gets one name (E24, D14). Nothing here depends on which answer arrived first.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from actors.enrichment.answers import ChunkAnswer, FieldAnswer, MappingAnswer
from actors.enrichment.asking import AskedOperation
from actors.enrichment.glossary import Glossary
from actors.enrichment.sense import identity, sense
from schema.enrichment.content import Origin
from schema.enrichment.inventory import Field, Operation


@dataclass(frozen=True)
class Suggestion:
    """A text for one place, and the pass it came from; `pass_key` is empty for the user's own words."""

    value: str
    origin: Origin
    pass_key: str = ""


@dataclass(frozen=True)
class FieldSuggestion:
    """What is suggested for one field."""

    name: Suggestion | None = None
    description: Suggestion | None = None


@dataclass(frozen=True)
class Proposal:
    """Everything a run suggests: endpoint names by operation key, fields by operation key and field key."""

    mapping_name: Suggestion | None = None
    mapping_description: Suggestion | None = None
    endpoints: Mapping[str, Suggestion] = field(default_factory=dict)
    fields: Mapping[tuple[str, str], FieldSuggestion] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.mapping_name or self.mapping_description or self.endpoints or self.fields)


@dataclass(frozen=True)
class Renamed:
    """A token with one meaning that got several names; `name` is the first, which all get (D14)."""

    token: str
    name: str
    others: tuple[str, ...]


def merge(
    answers: Iterable[tuple[str, ChunkAnswer]],
    overview: tuple[str, MappingAnswer] | None,
    everything: Sequence[AskedOperation],
    glossary: Glossary,
) -> tuple[Proposal, tuple[Renamed, ...]]:
    """The proposal of a run.

    `answers` are (pass key, answer) in plan order; `everything` is what the request is after, without caps and with
    what the user's glossary settles. A suggestion reaches every field of `everything` that is the same to `identity`.
    """
    operations = {asked.operation.key: asked.operation for asked in everything}
    endpoints: dict[str, Suggestion] = {}
    found: dict[Hashable, FieldSuggestion] = {}
    for pass_key, answer in answers:
        if overview is None and answer.mapping is not None:
            overview = pass_key, answer.mapping
        for key, said in answer.operations.items():
            operation = operations[key]
            if said.name:
                endpoints.setdefault(key, Suggestion(said.name, "model", pass_key))
            for asked, field_answer in _said_about(operation, said.fields):
                same = identity(glossary, operation, asked)
                found[same] = _first(found.get(same), _suggested(field_answer, pass_key, glossary, operation, asked))
    fields, renamed = _one_name_for_one_thing(_spread(found, everything, glossary), everything, glossary)
    proposal = Proposal(
        mapping_name=_of_mapping(overview, lambda answer: answer.name),
        mapping_description=_of_mapping(overview, lambda answer: answer.description),
        endpoints={
            asked.operation.key: endpoints[asked.operation.key]
            for asked in everything
            if asked.name and asked.operation.key in endpoints
        },
        fields=fields,
    )
    return _with_the_users_words(proposal, everything, glossary), renamed


def _said_about(operation: Operation, answers: Mapping[str, FieldAnswer]) -> Iterator[tuple[Field, FieldAnswer]]:
    for asked in (*operation.inputs, *operation.outputs):
        if asked.key in answers:
            yield asked, answers[asked.key]


def _suggested(
    said: FieldAnswer, pass_key: str, glossary: Glossary, operation: Operation, asked: Field
) -> FieldSuggestion:
    known = glossary.meaning(operation, asked)
    quoted = known is not None and known.source == "lookup" and known.meaning == said.description
    return FieldSuggestion(
        name=Suggestion(said.name, "model", pass_key) if said.name else None,
        description=Suggestion(said.description, "lookup" if quoted else "model", pass_key)
        if said.description
        else None,
    )


def _first(earlier: FieldSuggestion | None, later: FieldSuggestion) -> FieldSuggestion:
    if earlier is None:
        return later
    return FieldSuggestion(name=earlier.name or later.name, description=earlier.description or later.description)


def _spread(
    found: Mapping[Hashable, FieldSuggestion], everything: Sequence[AskedOperation], glossary: Glossary
) -> dict[tuple[str, str], FieldSuggestion]:
    """To every field that is the same and wants the text."""
    fields: dict[tuple[str, str], FieldSuggestion] = {}
    for asked in everything:
        for one in asked.fields:
            suggestion = found.get(identity(glossary, asked.operation, one.field))
            if suggestion is None:
                continue
            name = suggestion.name if one.name else None
            description = suggestion.description if one.description else None
            if name or description:
                fields[asked.operation.key, one.field.key] = FieldSuggestion(name, description)
    return fields


def _one_name_for_one_thing(
    fields: Mapping[tuple[str, str], FieldSuggestion], everything: Sequence[AskedOperation], glossary: Glossary
) -> tuple[dict[tuple[str, str], FieldSuggestion], tuple[Renamed, ...]]:
    """Give a token with one meaning the name it got first, inputs and outputs alike (D14)."""
    names: dict[tuple[str, str], str] = {}
    others: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    alike: dict[tuple[str, str], FieldSuggestion] = {}
    for asked in everything:
        for one in asked.fields:
            place = asked.operation.key, one.field.key
            suggestion = fields.get(place)
            if suggestion is None:
                continue
            alike[place] = suggestion
            known = sense(glossary, asked.operation, one.field)
            if suggestion.name is None or known is None:
                continue
            name = names.setdefault(known, suggestion.name.value)
            if name != suggestion.name.value:
                others[known][suggestion.name.value] = None
                alike[place] = replace(suggestion, name=replace(suggestion.name, value=name))
    renamed = tuple(Renamed(known[0], names[known], tuple(dropped)) for known, dropped in others.items())
    return alike, renamed


def _of_mapping(
    overview: tuple[str, MappingAnswer] | None, text: Callable[[MappingAnswer], str | None]
) -> Suggestion | None:
    if overview is None:
        return None
    pass_key, answer = overview
    value = text(answer)
    return Suggestion(value, "model", pass_key) if value else None


def _with_the_users_words(proposal: Proposal, everything: Sequence[AskedOperation], glossary: Glossary) -> Proposal:
    """The user's glossary overrides model and reference, word for word (D14)."""
    endpoints, fields = dict(proposal.endpoints), dict(proposal.fields)
    for asked in everything:
        key = asked.operation.key
        said = glossary.user_endpoint(asked.operation)
        if asked.name and said is not None and said.name:
            endpoints[key] = Suggestion(said.name, "user")
        for one in asked.fields:
            entry = glossary.user_entry(asked.operation, one.field)
            if entry is None:
                continue
            before = fields.get((key, one.field.key), FieldSuggestion())
            name = Suggestion(entry.name, "user") if one.name and entry.name else before.name
            description = Suggestion(entry.meaning, "user") if one.description and entry.meaning else before.description
            if name or description:
                fields[key, one.field.key] = FieldSuggestion(name, description)
    return replace(proposal, endpoints=endpoints, fields=fields)
