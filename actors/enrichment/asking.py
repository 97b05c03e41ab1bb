"""What a run asks for: of every selected operation, the texts that its targets name and that are not settled yet.

Settled is what a person wrote (D10), what the user's own glossary says (D14) and, when only missing texts are wanted,
whatever has a text already (D7). Caps come later, so the next run asks what this one could not (E17).
"""

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from schema.enrichment.content import MappedField, MappingContent, Text
from schema.enrichment.glossary import GlossaryEntry
from schema.enrichment.inventory import Field, Inventory, Operation
from schema.enrichment.payloads import TARGETS, Target

#: What makes two fields one and the same to the merger (E24).
Identity = Callable[[Operation, Field], Hashable]

#: Whether anything is known of a field beside what the definition says.
Known = Callable[[Operation, Field], bool]

#: One text of what is one field to the merger: its identity, and `name` or `description`.
Thing = tuple[Hashable, str]


class LastWord(Protocol):
    """The user's own glossary: what it says is settled (D14)."""

    def user_entry(self, operation: Operation, field: Field) -> GlossaryEntry | None:
        """What it says about a field."""
        ...

    def user_endpoint(self, operation: Operation) -> GlossaryEntry | None:
        """What it says about an endpoint."""
        ...


@dataclass(frozen=True)
class AskedField:
    """A field, and which of its two texts are wanted."""

    field: Field
    name: bool
    description: bool


@dataclass(frozen=True)
class AskedOperation:
    """An operation with the fields asked of it; `name`: its own name is wanted."""

    operation: Operation
    name: bool
    inputs: tuple[AskedField, ...] = ()
    outputs: tuple[AskedField, ...] = ()

    @property
    def fields(self) -> tuple[AskedField, ...]:
        """Inputs, then outputs."""
        return self.inputs + self.outputs

    @property
    def size(self) -> int:
        """How many things are asked: the endpoint's name and each field count as one."""
        return self.name + len(self.inputs) + len(self.outputs)

    def having(self, fields: Collection[str], *, name: bool) -> "AskedOperation":
        """The same operation with only these field keys asked."""
        return replace(
            self,
            name=name,
            inputs=tuple(asked for asked in self.inputs if asked.field.key in fields),
            outputs=tuple(asked for asked in self.outputs if asked.field.key in fields),
        )


#: What one call asks: the operations of a chunk, or a part of them.
Operations = tuple[AskedOperation, ...]


@dataclass(frozen=True)
class Wishes:
    """The part of a request that says which texts are wanted. `selected` None means every operation (E11)."""

    targets: frozenset[Target]
    only_missing: bool = False
    selected: frozenset[str] | None = None

    def want(self, target: Target, text: Text | None) -> bool:
        """Whether a text is to be written where this one stands: never over a person's own (D10)."""
        if target not in self.targets or (text is not None and text.is_final):
            return False
        return text is None or not self.only_missing


@dataclass(frozen=True)
class Caps:
    """Fields of one operation that may enter a prompt (E17)."""

    per_request: int
    per_status: int


@dataclass(frozen=True)
class Choice:
    """What is asked after caps and budget.

    `beyond` are the texts that found room nowhere; `truncated` those among them that the prompt budget cut, by the
    operations they were cut from; `cut` counts the fields that the inventory itself had left out.
    """

    operations: Operations
    beyond: frozenset[Thing]
    truncated: Mapping[str, frozenset[Thing]]
    cut: int

    @property
    def not_asked(self) -> int:
        """Fields that are wanted and not asked (E17)."""
        return len(fields_of(self.beyond)) + self.cut


def wanted(inventory: Inventory, content: MappingContent, wishes: Wishes, user: LastWord) -> Operations:
    """Every text the request is after, uncapped, in the definition's order; operations without any are left out."""
    endpoints = {endpoint.key: endpoint for endpoint in content.endpoints}

    def of_fields(operation: Operation, fields: Sequence[Field]) -> Iterator[AskedField]:
        mapped = {field.key: field for field in endpoints[operation.key].fields}
        for field in fields:
            texts = mapped.get(field.key, MappedField(key=field.key))
            name_target, description_target = field_targets(field)
            said = user.user_entry(operation, field)
            name = wishes.want(name_target, texts.name) and not (said and said.name)
            description = wishes.want(description_target, texts.description) and not (said and said.meaning)
            if name or description:
                yield AskedField(field, name, description)

    def of_operation(operation: Operation) -> AskedOperation:
        said = user.user_endpoint(operation)
        return AskedOperation(
            operation,
            wishes.want("endpoint_names", endpoints[operation.key].name) and not (said and said.name),
            tuple(of_fields(operation, operation.inputs)),
            tuple(of_fields(operation, operation.outputs)),
        )

    return tuple(
        asked
        for operation in inventory.operations
        if operation.key in endpoints and (wishes.selected is None or operation.key in wishes.selected)
        if (asked := of_operation(operation)).size
    )


def targets(content: MappingContent, wishes: Wishes) -> tuple[Target, ...]:
    """The targets of the run in their order, without those of the mapping itself that are settled."""
    standing: dict[Target, Text | None] = {"mapping_name": content.name, "mapping_description": content.description}
    return tuple(
        target
        for target in TARGETS
        if target in wishes.targets and (target not in standing or wishes.want(target, standing[target]))
    )


def field_targets(field: Field) -> tuple[Target, Target]:
    """The targets of a field's name and of its description (E9)."""
    if field.direction == "input":
        return "input_field_names", "input_field_descriptions"
    return "output_field_names", "output_field_descriptions"


def choose(
    operations: Sequence[AskedOperation],
    identity: Identity,
    caps: Caps,
    *,
    fit: Callable[[AskedOperation], AskedOperation] = lambda asked: asked,
    is_known: Known = lambda _operation, _field: False,
) -> Choice:
    """Ask each thing once, in the first operation that has room for it (E16, E17).

    Fields that are one to the merger share one suggestion (E24), so asking them again in every operation that has
    them would only cost tokens. Where there is room for some only, those that the glossary knows go first: a model can
    say something of them. What is beyond an operation's caps, or what `fit` leaves out of it, may still be asked in a
    later one.
    """
    taken: set[Thing] = set()
    wanted: set[Thing] = set()
    cut_by_budget: dict[str, set[Thing]] = {}
    chosen: list[AskedOperation] = []

    def fresh(operation: Operation, fields: Sequence[AskedField], cap: int) -> Iterator[AskedField]:
        """The first fields that ask something new, with only that asked."""
        room, here = cap, set[Thing]()
        for asked in sorted(fields, key=lambda asked: not is_known(operation, asked.field)):
            new = things(identity, operation, asked) - taken - here
            if new and room:
                room -= 1
                here |= new
                which = {text for _, text in new}
                yield AskedField(asked.field, name="name" in which, description="description" in which)

    for asked in operations:
        operation = asked.operation
        wanted.update(_things(identity, asked))
        statuses: dict[str, list[AskedField]] = {}
        for field in asked.outputs:
            statuses.setdefault(field.field.status, []).append(field)
        candidate = replace(
            asked,
            inputs=tuple(fresh(operation, asked.inputs, caps.per_request)),
            outputs=tuple(field for fields in statuses.values() for field in fresh(operation, fields, caps.per_status)),
        )
        kept = fit(candidate)
        taken.update(_things(identity, kept))
        if kept.size < candidate.size:
            cut_by_budget[operation.key] = _things(identity, candidate) - _things(identity, kept)
        if kept.size:
            chosen.append(kept)
    return Choice(
        tuple(chosen),
        frozenset(wanted - taken),
        {key: frozenset(lost) for key, cut in cut_by_budget.items() if (lost := cut - taken)},
        sum(asked.operation.cut for asked in operations),
    )


def fields_of(texts: Collection[Thing]) -> set[Hashable]:
    """The fields that texts belong to, as the merger tells them apart."""
    return {one for one, _ in texts}


def things(identity: Identity, operation: Operation, asked: AskedField) -> set[Thing]:
    """What is asked of a field, as the merger tells things apart."""
    one = identity(operation, asked.field)
    return {(one, which) for which, wanted in (("name", asked.name), ("description", asked.description)) if wanted}


def _things(identity: Identity, asked: AskedOperation) -> set[Thing]:
    return {thing for field in asked.fields for thing in things(identity, asked.operation, field)}


def halves(operations: Sequence[AskedOperation]) -> tuple[Operations, Operations] | None:
    """Two smaller questions that ask the same: operations are parted first, then fields (D2); None: nothing to part."""
    if len(operations) > 1:
        middle = len(operations) // 2
        return tuple(operations[:middle]), tuple(operations[middle:])
    if not operations or operations[0].size <= 1:
        return None
    [whole] = operations
    keys = [asked.field.key for asked in whole.fields]
    middle = whole.size // 2 - whole.name
    first = whole.having(frozenset(keys[:middle]), name=whole.name)
    rest = whole.having(frozenset(keys[middle:]), name=False)
    return (first,), (rest,)
