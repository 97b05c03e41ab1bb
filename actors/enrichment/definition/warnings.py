"""What was read around in a definition, as sentences for a person: one per kind, with its first cases."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from actors.enrichment.definition.refs import References
from schema.enrichment.inventory import InventoryWarning, Operation

_NAMED = 5
_NAME_LENGTH = 120


def warnings_of(
    root: dict[str, Any], operations: Sequence[Operation], references: References
) -> Iterator[InventoryWarning]:
    """The warnings of an inventory, each with a literal code."""
    yield from _doubled_ids(operations)
    yield from _unfollowed(references)
    yield from _cut(operations)
    webhooks = root.get("webhooks") or root.get("x-webhooks")
    if webhooks and isinstance(webhooks, dict):
        yield InventoryWarning(
            code="webhooks_ignored",
            text=f"Webhooks are not enriched and stay as they are: {named(webhooks)}.",
        )


def _doubled_ids(operations: Sequence[Operation]) -> Iterator[InventoryWarning]:
    counted = Counter(one.operation_id for one in operations if one.operation_id)
    doubled = [identity for identity, times in counted.items() if times > 1]
    if doubled:
        yield InventoryWarning(
            code="duplicate_operation_id",
            text=f"Several operations share an operationId and are told apart by method and path: {named(doubled)}.",
        )


def _unfollowed(references: References) -> Iterator[InventoryWarning]:
    if references.outside:
        yield InventoryWarning(
            code="external_reference",
            text=f"References that leave the document were not followed: {named(references.outside)}. "
            "Bundle the definition into one file to have what they describe enriched.",
        )
    if references.broken:
        yield InventoryWarning(
            code="broken_reference",
            text=f"References that lead nowhere were passed over: {named(references.broken)}.",
        )


def _cut(operations: Sequence[Operation]) -> Iterator[InventoryWarning]:
    cut = [one for one in operations if one.cut]
    if cut:
        total = sum(one.cut for one in cut)
        yield InventoryWarning(
            code="fields_cut",
            text=f"At least {total:,} deep fields of {len(cut):,} operations are more than the inventory holds "
            f"and are never asked for: {named([f'{one.method} {one.path}' for one in cut])}.",
        )


def named(names: Collection[str]) -> str:
    """The first few names, and how many there are beside them."""
    first = ", ".join(
        name if len(name) <= _NAME_LENGTH else f"{name[:_NAME_LENGTH]}..." for name in list(names)[:_NAMED]
    )
    return first if len(names) <= _NAMED else f"{first} and {len(names) - _NAMED:,} more"
