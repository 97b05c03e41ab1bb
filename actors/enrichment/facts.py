"""The data of a prompt: what the definition and the glossary say, as one JSON object at its very end.

Everything here is data, never instruction (D9): it stands in a fence that it can't close, since a backtick inside it
is always written as an escape. Empty values are left out, ids are positions, so equal questions are equal bytes (D8).
"""

import json
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from actors.enrichment.asking import AskedField, AskedOperation
from actors.enrichment.glossary import endpoint
from schema.enrichment.glossary import GlossaryEntry
from schema.enrichment.inventory import Field, Inventory, Operation
from schema.enrichment.payloads import OVERVIEW_TARGETS, TARGETS, Target

#: Longest texts of a definition that enter a prompt, in characters.
FIELD_TEXT = 400
OPERATION_TEXT = 1000
MAPPING_TEXT = 2000

Facts = dict[str, Any]


def fenced(facts: Facts) -> str:
    """The object as a JSON code block that nothing inside it can end."""
    text = json.dumps(facts, ensure_ascii=False, separators=(",", ":")).replace("`", "\\u0060")
    return f"```json\n{text}\n```"


def of_chunk(
    operations: Sequence[AskedOperation],
    glossary: Sequence[GlossaryEntry],
    targets: Iterable[Target],
    mapping: Facts | None = None,
) -> Facts:
    """What one chunk asks; `mapping` is there when the overview rides along (E18)."""
    asked = frozenset(targets)
    facts = {
        "kind": "chunk",
        "targets": [target for target in TARGETS if target in asked and (mapping or target not in OVERVIEW_TARGETS)],
        "mapping": mapping,
        "glossary": [_entry(entry) for entry in glossary],
        "operations": _operations(operations, {(entry.key.casefold(), _squeezed(entry.meaning)) for entry in glossary}),
    }
    return {key: value for key, value in facts.items() if value or key == "operations"}


def of_overview(inventory: Inventory, operations: Sequence[Operation], targets: Iterable[Target]) -> Facts:
    """What the overview pass asks; `operations` are those there is room for."""
    asked = frozenset(targets)
    unlisted = len(inventory.operations) - len(operations)
    return {
        "kind": "overview",
        "targets": [target for target in TARGETS if target in asked & OVERVIEW_TARGETS],
        **of_mapping(inventory),
        "operations": [
            _said({"method": one.method, "path": one.path, "summary": _clip(one.summary or one.description, 120)})
            for one in operations
        ],
        **({"operations_not_listed": unlisted} if unlisted else {}),
    }


def of_mapping(inventory: Inventory) -> Facts:
    """The mapping itself."""
    return {"title": inventory.title, "description": _clip(inventory.description, MAPPING_TEXT)}


def of_digest(inventory: Sequence[tuple[Operation, Sequence[str]]], reference: str) -> Facts:
    """What the digest reads: every endpoint with its tokens, and the reference text."""
    return {
        "kind": "digest",
        "inventory": [{"endpoint": endpoint(operation), "fields": list(tokens)} for operation, tokens in inventory],
        "reference": reference,
    }


def ids(operations: Sequence[AskedOperation]) -> tuple[dict[str, AskedOperation], dict[str, tuple[str, AskedField]]]:
    """What the ids in a chunk's facts stand for: endpoints by `o1`, fields by `f1` with their operation's key.

    An endpoint has one only where its name is asked.
    """
    endpoints = {f"o{number}": asked for number, asked in enumerate(operations, 1) if asked.name}
    every = ((asked.operation.key, field) for asked in operations for field in asked.fields)
    return endpoints, {f"f{number}": one for number, one in enumerate(every, 1)}


def _operations(operations: Sequence[AskedOperation], told: Collection[tuple[str, str]]) -> list[Facts]:
    """`told` are the tokens with the meanings that the glossary beside them says already."""
    rendered: list[Facts] = []
    number = 0
    for position, asked in enumerate(operations, 1):
        inputs = [_field(f"f{number + place}", one.field, told) for place, one in enumerate(asked.inputs, 1)]
        number += len(inputs)
        outputs = [_field(f"f{number + place}", one.field, told) for place, one in enumerate(asked.outputs, 1)]
        number += len(outputs)
        rendered.append(
            _said(
                {
                    # Without an id there is no name to answer, and no tokens to spend on one.
                    "id": f"o{position}" if asked.name else "",
                    "method": asked.operation.method.upper(),
                    "path": asked.operation.path,
                    "operation_id": asked.operation.operation_id,
                    "summary": _clip(asked.operation.summary, OPERATION_TEXT),
                    "description": _clip(asked.operation.description, OPERATION_TEXT),
                    "inputs": inputs,
                    "outputs": outputs,
                }
            )
        )
    return rendered


def _field(number: str, field: Field, told: Collection[tuple[str, str]]) -> Facts:
    meaning = _squeezed(field.description)
    is_told = any((name.casefold(), meaning) in told for name in (field.token, field.path))
    return _said(
        {
            "id": number,
            "token": field.token,
            "path": field.path if field.path != field.token else "",
            "in": field.location if field.direction == "input" else "",
            "status": field.status,
            "type": field.type,
            "format": field.format,
            "title": _clip(field.title, FIELD_TEXT),
            "description": "" if is_told else _clip(field.description, FIELD_TEXT),
            "values": list(field.values),
        }
    )


def _entry(entry: GlossaryEntry) -> Facts:
    """Scope and note stand beside the meaning (E20); whose word it is does not matter to the model."""
    scope = _said({"name": entry.name, "endpoints": list(entry.endpoints), "note": entry.note})
    return {"key": entry.key, "kind": entry.kind, "meaning": entry.meaning, **scope}


def _squeezed(text: str) -> str:
    return " ".join(text.casefold().split())


def _said(facts: Facts) -> Facts:
    return {key: value for key, value in facts.items() if value}


def _clip(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"
