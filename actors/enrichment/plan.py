"""The plan of a run: its items in order, and the form it is kept in so that a resumed run goes by it (E19, D5)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from actors.enrichment.asking import AskedField, AskedOperation
from actors.enrichment.planner import Chunk
from schema.enrichment.payloads import RunWarning

OVERVIEW = "overview"


@dataclass(frozen=True)
class Plan:
    """Items in the order they run: the overview, if it is a pass of its own, then the chunks."""

    overview: bool
    chunks: tuple[Chunk, ...]
    not_asked: int
    warnings: tuple[RunWarning, ...]

    @property
    def items(self) -> int:
        """Items of the run (E2)."""
        return self.overview + len(self.chunks)


class _StoredField(NamedTuple):
    """A field by its key, and which of its texts are asked."""

    key: str
    name: bool
    description: bool


class _StoredOperation(BaseModel):
    model_config = ConfigDict(extra="forbid")

    key: str
    name: bool
    #: In the order they are asked: the prompt, and with it the identity of its pass, depends on that.
    fields: tuple[_StoredField, ...]


class _StoredChunk(BaseModel):
    model_config = ConfigDict(extra="forbid")

    id: str
    operations: tuple[_StoredOperation, ...]


class _StoredPlan(BaseModel):
    model_config = ConfigDict(extra="forbid")

    overview: bool
    chunks: tuple[_StoredChunk, ...]
    not_asked: int
    warnings: tuple[RunWarning, ...]


def to_json(plan: Plan) -> dict[str, Any]:
    """The plan as ordered identities: kind, operation keys, field keys with the texts that are asked."""
    return _StoredPlan(
        overview=plan.overview,
        chunks=tuple(
            _StoredChunk(
                id=chunk.id,
                operations=tuple(
                    _StoredOperation(
                        key=asked.operation.key,
                        name=asked.name,
                        fields=tuple(_StoredField(one.field.key, one.name, one.description) for one in asked.fields),
                    )
                    for asked in chunk.operations
                ),
            )
            for chunk in plan.chunks
        ),
        not_asked=plan.not_asked,
        warnings=plan.warnings,
    ).model_dump(mode="json")


def from_json(stored: Mapping[str, Any] | None, wanted: Sequence[AskedOperation]) -> Plan | None:
    """The stored plan over what the run wants; None where there is none, or it can't be read back (E30)."""
    if stored is None:
        return None
    operations = {asked.operation.key: asked for asked in wanted}
    try:
        plan = _StoredPlan.model_validate(stored)
        chunks = tuple(
            Chunk(chunk.id, tuple(_again(operations[one.key], one) for one in chunk.operations))
            for chunk in plan.chunks
        )
    except (ValidationError, KeyError):
        return None
    return Plan(plan.overview, chunks, plan.not_asked, plan.warnings)


def _again(asked: AskedOperation, stored: _StoredOperation) -> AskedOperation:
    """The operation as it was planned; a field that is no longer known makes the plan unreadable."""
    known = {one.field.key: one.field for one in asked.fields}
    fields = [AskedField(known[one.key], one.name, one.description) for one in stored.fields]
    return AskedOperation(
        asked.operation,
        stored.name,
        tuple(one for one in fields if one.field.direction == "input"),
        tuple(one for one in fields if one.field.direction == "output"),
    )
