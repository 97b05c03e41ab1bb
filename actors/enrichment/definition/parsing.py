"""Reading a definition from outside, and writing one back, in a child process with limits on time and memory."""

from collections.abc import Collection, Sequence

from actors.enrichment.definition.written import Conflict, Enriched, Written
from base import child
from base.errors import BadInput
from base.settings import load
from schema.enrichment.inventory import Inventory, InventoryWarning

#: Writing reads the file, edits it and reads it back.
WRITING_FACTOR = 3


def parse(data: bytes, name: str) -> Inventory:
    """The inventory of the API definition in `data`; `name` is what its file is called in sentences.

    Blocks for as long as reading takes, at most `LONGHAUL_LIMITS__PARSING_TIMEOUT`.

    Raises:
        BadInput: one sentence that names the file, what is wrong and what to do.
    """
    limits = load().limits
    try:
        read = child.run(
            "actors.enrichment.definition.in_child:read_inventory",
            data,
            name,
            limits.definition_bytes,
            timeout=limits.parsing_timeout,
        )
    except child.ChildFailed as failure:
        raise BadInput(f"{name} can't be read: {reason(failure)}") from failure
    return Inventory.model_validate_json(read)


def enrich(data: bytes, name: str, written: Sequence[Written], selected: Collection[str] | None = None) -> Enriched:
    """The definition in `data` with the texts of `written`, which stand in plan order, and the overlay of them (D11).

    A place shared by several operations is written only if all of them are `selected` (keys; None means all) or have
    an entry with the same text; else it is left alone with the warning `shared_schema_not_selected`. Of two texts for
    one place the first is written and the other listed in `conflicts`. Blocks as `parse` does.

    Raises:
        BadInput: the definition can't be read, or not within the limits.
    """
    chosen = None if selected is None else list(selected)
    try:
        made = child.run(
            "actors.enrichment.definition.in_child:write_enriched",
            data,
            name,
            list(written),
            chosen,
            timeout=load().limits.parsing_timeout * WRITING_FACTOR,
        )
    except child.ChildFailed as failure:
        raise BadInput(f"{name} can't be written: {reason(failure)}") from failure
    return Enriched(
        document=made["document"],
        overlay=made["overlay"],
        media=made["media"],
        warnings=tuple(InventoryWarning(code=code, text=text) for code, text in made["warnings"]),
        conflicts=tuple(Conflict(*conflict) for conflict in made["conflicts"]),
    )


def reason(failure: child.ChildFailed) -> str:
    """Why a child gave no answer about a definition, and what to do about it."""
    match failure:
        case child.TimedOut():
            return (
                "it took too long. Give it as JSON, which is read faster than YAML, give a part of it, "
                "or raise LONGHAUL_LIMITS__PARSING_TIMEOUT."
            )
        case child.OutOfMemory():
            return "it needs too much memory. Give it as JSON, which takes less than YAML, or give a part of it."
        case _:
            return "it makes the parser fail. Check that it is a valid API definition, or give a part of it."
