"""Reading an API definition from outside, in a child process with limits on time and memory."""

from base import child
from base.errors import BadInput
from base.settings import load
from schema.enrichment.inventory import Inventory


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
