"""What a mapping says: names and descriptions, each knowing where it comes from (D10). What a definition *has* is the
inventory; the two meet by operation key and field key, so a version of a mapping stays small and survives a new
version of its definition (D15).
"""

from collections.abc import Iterator, Sequence
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from base.ids import uuid7
from schema.enrichment.inventory import Field, Inventory

Origin = Literal["source", "model", "lookup", "user", "person"]


class _Content(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Text(_Content):
    """One name or description with its provenance (D10).

    `origin` is the definition itself (`source`), a model's own words (`model`), a reference quoted word for word
    (`lookup`), a user's glossary (`user`), or a person's edit (`person`). `old` is the text it stands in for.
    """

    value: str
    origin: Origin = "source"
    run_id: UUID | None = None
    pass_key: str | None = None
    model: str | None = None
    old: str | None = None

    @property
    def is_final(self) -> bool:
        """A person wrote it: nothing overwrites it unasked (D10)."""
        return self.origin == "person"


class MappedField(_Content):
    """An input or output field of one endpoint; `key` is the inventory's `location|status|path`."""

    key: str
    name: Text | None = None
    description: Text | None = None


class MappedEndpoint(_Content):
    """One endpoint; `id` stays the same over all versions, `key` is `METHOD::PATH::OPERATIONID`."""

    id: UUID
    key: str
    name: Text | None = None
    inputs: tuple[MappedField, ...] = ()
    outputs: tuple[MappedField, ...] = ()

    @property
    def fields(self) -> Iterator[MappedField]:
        """Inputs, then outputs, in the definition's order."""
        yield from self.inputs
        yield from self.outputs


class MappingContent(_Content):
    """All texts of one version of a mapping."""

    name: Text | None = None
    description: Text | None = None
    endpoints: tuple[MappedEndpoint, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The form a version is stored in; what is absent is left out."""
        return self.model_dump(mode="json", exclude_none=True, exclude_defaults=True)


def from_inventory(inventory: Inventory) -> MappingContent:
    """The first version of a mapping: the definition's own texts, and a fresh GUID for every endpoint."""
    return MappingContent(
        name=_source(inventory.title),
        description=_source(inventory.description),
        endpoints=tuple(
            MappedEndpoint(
                id=uuid7(),
                key=operation.key,
                name=_source(operation.summary),
                inputs=_mapped(operation.inputs),
                outputs=_mapped(operation.outputs),
            )
            for operation in inventory.operations
        ),
    )


def carry_over(old: MappingContent, inventory: Inventory) -> MappingContent:
    """The mapping on a new version of its definition (D15).

    Endpoints keep their GUIDs by operation key; suggestions and human edits are kept by operation key and field key,
    while texts that came from the old definition give way to the new one's. What the new definition adds without a
    text counts as missing.
    """
    fresh = from_inventory(inventory)
    kept = {endpoint.key: endpoint for endpoint in old.endpoints}
    return MappingContent(
        name=_keep(old.name, fresh.name),
        description=_keep(old.description, fresh.description),
        endpoints=tuple(
            _carried(kept[endpoint.key], endpoint) if endpoint.key in kept else endpoint for endpoint in fresh.endpoints
        ),
    )


def _source(value: str) -> Text | None:
    return Text(value=value) if value.strip() else None


def _mapped(fields: Sequence[Field]) -> tuple[MappedField, ...]:
    return tuple(
        MappedField(key=field.key, name=_source(field.title), description=_source(field.description))
        for field in fields
    )


def _keep(old: Text | None, fresh: Text | None) -> Text | None:
    return old if old is not None and old.origin != "source" else fresh


def _carried(old: MappedEndpoint, fresh: MappedEndpoint) -> MappedEndpoint:
    return fresh.model_copy(
        update={
            "id": old.id,
            "name": _keep(old.name, fresh.name),
            "inputs": _carried_fields(old.inputs, fresh.inputs),
            "outputs": _carried_fields(old.outputs, fresh.outputs),
        }
    )


def _carried_fields(old: Sequence[MappedField], fresh: Sequence[MappedField]) -> tuple[MappedField, ...]:
    kept = {field.key: field for field in old}
    return tuple(
        MappedField(
            key=field.key,
            name=_keep(kept[field.key].name, field.name),
            description=_keep(kept[field.key].description, field.description),
        )
        if field.key in kept
        else field
        for field in fresh
    )
