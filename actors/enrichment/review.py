"""What a run changed, field by field: before and after, opaque names first, unanswered ones shown as such."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from uuid import UUID

from actors.enrichment.asking import field_targets
from actors.enrichment.glossary import endpoint
from actors.enrichment.opaque import is_opaque
from base.errors import NotFound
from schema.engine import Database
from schema.enrichment import definitions, run_views, versions
from schema.enrichment.content import MappedEndpoint, MappedField, MappingContent, Text
from schema.enrichment.inventory import Field, Inventory, Operation
from schema.enrichment.run_views import RunRow


@dataclass(frozen=True)
class Change:
    """One thing a run was asked about. Both `after` are None where it suggested nothing."""

    endpoint: str
    #: `query`, `path`, `form`, `response 200`, ...; `endpoint` for the endpoint's own name.
    place: str
    token: str
    name_before: str | None
    name_after: str | None
    description_before: str | None
    description_after: str | None

    @property
    def answered(self) -> bool:
        """Whether the run suggested anything here."""
        return self.name_after is not None or self.description_after is not None


@dataclass(frozen=True)
class Review:
    """The first rows, and how many there are in all, and of those without a suggestion."""

    rows: tuple[Change, ...]
    total: int
    unanswered: int


def review(database: Database, account_id: UUID, run_id: UUID, limit: int = 20) -> Review:
    """Before and after of a run that ended, or that will end: then nothing is after.

    The same name with the same texts is one row, wherever it stands.

    Raises:
        NotFound: the account has no such run.
    """
    with database.account(account_id) as connection:
        row = run_views.one(connection, run_id)
        if row is None:
            raise NotFound(f"There is no run {run_id} in this account.")
        base = versions.by_number(connection, row.mapping_id, row.mapping_version)
        written = versions.of_run(connection, run_id)
        definition = definitions.by_id(connection, row.definition_id)
        selected = frozenset(run_views.selection(connection, run_id))
    if base is None or definition is None:
        return Review((), 0, 0)
    inventory = Inventory.model_validate(definition.inventory)
    after = base.content if written is None else written.content
    changes = list(_distinct(_changes(row, inventory, base.content, after, selected)))
    changes.sort(key=lambda change: not is_opaque(change.token))
    unanswered = sum(not change.answered for change in changes)
    return Review(tuple(changes[:limit]), len(changes), unanswered)


def _distinct(changes: Iterator[Change]) -> Iterator[Change]:
    seen: set[tuple[str | None, ...]] = set()
    for one in changes:
        said = (one.token, one.name_before, one.name_after, one.description_before, one.description_after)
        if said not in seen:
            seen.add(said)
            yield one


def _changes(
    row: RunRow, inventory: Inventory, before: MappingContent, after: MappingContent, selected: frozenset[str]
) -> Iterator[Change]:
    asked = frozenset(row.targets)
    old = {one.key: one for one in before.endpoints}
    new = {one.key: one for one in after.endpoints}
    about_fields = any("field" in target for target in asked)
    for operation in inventory.operations:
        if operation.key not in old or (selected and str(old[operation.key].id) not in selected):
            continue
        if not about_fields and "endpoint_names" in asked:
            yield _of_endpoint(row.id, operation, old[operation.key], new[operation.key])
        yield from _of_fields(row.id, operation, asked, _fields(old[operation.key]), _fields(new[operation.key]))


def _of_endpoint(run_id: UUID, operation: Operation, before: MappedEndpoint, after: MappedEndpoint) -> Change:
    token = operation.operation_id or operation.path
    return Change(endpoint(operation), "endpoint", token, _value(before.name), _by(run_id, after.name), None, None)


def _of_fields(
    run_id: UUID,
    operation: Operation,
    asked: frozenset[str],
    before: Mapping[str, MappedField],
    after: Mapping[str, MappedField],
) -> Iterator[Change]:
    for field in (*operation.inputs, *operation.outputs):
        if asked.isdisjoint(field_targets(field)) or field.key not in before:
            continue
        old, new = before[field.key], after[field.key]
        yield Change(
            endpoint(operation),
            _place(field),
            field.token,
            _value(old.name),
            _by(run_id, new.name),
            _value(old.description),
            _by(run_id, new.description),
        )


def _place(field: Field) -> str:
    return f"response {field.status}" if field.direction == "output" else field.location


def _fields(mapped: MappedEndpoint) -> dict[str, MappedField]:
    return {field.key: field for field in mapped.fields}


def _value(text: Text | None) -> str | None:
    return None if text is None else text.value


def _by(run_id: UUID, text: Text | None) -> str | None:
    return text.value if text is not None and text.run_id == run_id else None
