"""What a run works on, checked after the claim and before any call (E7, E11). A failed check fails the run and leaves
the mapping as it was; its sentence is for a person (E3).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from pydantic import ValidationError
from sqlalchemy import Connection

from actors.enrichment.definition.parsing import parse
from base.errors import ContextLost, Permanent
from schema.engine import Database
from schema.enrichment import definitions, mappings, passes, runs, versions
from schema.enrichment.content import MappingContent
from schema.enrichment.definitions import Definition
from schema.enrichment.inventory import Inventory
from schema.enrichment.payloads import EnrichmentPayload
from schema.enrichment.runs import Run
from schema.enrichment.versions import Version


@dataclass(frozen=True)
class Context:
    """A valid run: its row, the version it enriches, the definition's inventory, and what earlier claims left."""

    run: Run
    version: Version
    inventory: Inventory
    course: Mapping[str, Any]
    checkpoints: Mapping[str, Any]


def of_run(database: Database, account_id: UUID, request: EnrichmentPayload) -> Context:
    """The context of a claimed run.

    Raises:
        ContextLost: mapping, definition or run are not what they were when the run was asked for.
    """
    with database.account(account_id) as connection:
        run = _run(connection, request)
        version = _version(connection, request, run)
        definition = _definition(connection, run, version)
        course = runs.course(connection, run.id)
        checkpoints = passes.checkpoints(connection, run.id)
    _ = version.content  # here and now: not in the transaction, and not later in the way of other runs
    return Context(run, version, inventory_of(database, account_id, definition), course, checkpoints)


def inventory_of(database: Database, account_id: UUID, definition: Definition) -> Inventory:
    """The stored inventory, or where its shape is of another time, the document walked again."""
    try:
        return Inventory.model_validate(definition.inventory)
    except ValidationError:
        with database.account(account_id) as connection:
            document = definitions.document(connection, definition.id)
        if document is None:
            raise ContextLost(_NO_DEFINITION) from None
        return parse(document.data, document.name)


def selected_keys(content: MappingContent, ids: Sequence[UUID]) -> frozenset[str] | None:
    """The operation keys of the selected endpoints; None means all. Ids that match nothing are left out (E11).

    Raises:
        Permanent: ids were given and none of them is an endpoint of this version.
    """
    if not ids:
        return None
    wanted = frozenset(ids)
    keys = frozenset(endpoint.key for endpoint in content.endpoints if endpoint.id in wanted)
    if not keys:
        raise Permanent(
            "None of the selected endpoints is in the mapping's current version: nothing could be asked. "
            "Select endpoints of this version.",
            reason="selection_matches_nothing",
        )
    return keys


def _run(connection: Connection, request: EnrichmentPayload) -> Run:
    run = runs.by_id(connection, request.run_id)
    if run is None:
        raise ContextLost("The run is not there any more. Ask for a new one.")
    if run.state is not None:
        raise ContextLost(f"The run has ended as {run.state} already. Ask for a new one.")
    return run


def _version(connection: Connection, request: EnrichmentPayload, run: Run) -> Version:
    mapping = mappings.by_id(connection, request.mapping_id)
    if mapping is None or mapping.id != run.mapping_id:
        raise ContextLost("The mapping is not there any more. Import the definition again and ask for a new run.")
    if mapping.status != "Enriching" or mapping.enriching_run_id != run.id:
        raise ContextLost(
            f"The mapping `{mapping.name}` no longer waits for this run: it was released or given to another one. "
            "Ask for a new run."
        )
    version = versions.by_number(connection, mapping.id, mapping.current_version)
    if version is None or mapping.current_version != run.mapping_version:
        raise ContextLost(
            f"The mapping `{mapping.name}` has a newer version than the run was asked for. Ask for a new run."
        )
    return version


def _definition(connection: Connection, run: Run, version: Version) -> Definition:
    definition = definitions.by_id(connection, version.definition_id)
    if definition is None:
        raise ContextLost(_NO_DEFINITION)
    if definition.id != run.definition_id or definition.content_hash != version.content_hash:
        raise ContextLost(
            "The imported definition is not the one the mapping's version was made from. Import it again and ask for "
            "a new run."
        )
    return definition


_NO_DEFINITION = "The imported definition is not there any more. Import it again and ask for a new run."
