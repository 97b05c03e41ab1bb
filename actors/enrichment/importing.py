"""How an API definition comes in: parsed in a child, kept once by its bytes, and described by a mapping (D4, D15)."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from pydantic import ValidationError
from sqlalchemy import Connection

from actors.enrichment.definition.comparing import Changes, compare
from actors.enrichment.definition.parsing import parse
from base.errors import BadInput, Conflict, NotFound
from schema.engine import Database
from schema.enrichment import definitions, mappings, versions
from schema.enrichment.content import MappingContent, carry_over, from_inventory
from schema.enrichment.definitions import Definition
from schema.enrichment.inventory import Inventory, InventoryWarning
from schema.enrichment.mappings import Mapping
from schema.enrichment.versions import Version

_NO_CHANGES = Changes()

JsonObject = dict[str, Any]


@dataclass(frozen=True)
class Imported:
    """The mapping that now describes the definition. `created`: it is new; `changes`: what a new version brought."""

    mapping_id: UUID
    definition_id: UUID
    name: str
    version: int
    created: bool
    changes: Changes
    warnings: tuple[InventoryWarning, ...]
    operations: int


@dataclass(frozen=True)
class _Parsed:
    """A definition read, with its inventory as it is stored; what takes long is done before a transaction begins."""

    file: str
    data: bytes
    content_hash: str
    inventory: Inventory
    stored: JsonObject


def import_definition(
    database: Database, account_id: UUID, name: str, data: bytes, *, mapping: UUID | None = None
) -> Imported:
    """Import a definition; `name` is its file's.

    Without `mapping` the same bytes answer the mapping they made before. With it they become a new version of that
    mapping's definition, which keeps GUIDs, accepted texts and human edits (D15).

    Raises:
        BadInput: the bytes are no API definition, or too much of one.
        NotFound: the account has no such mapping.
        Conflict: the mapping is being enriched; `open_id` is its run.
    """
    parsed = _parse(database, account_id, name, data)
    if mapping is not None:
        return _onto(database, account_id, mapping, parsed)
    first = from_inventory(parsed.inventory).to_json()
    with database.account(account_id) as connection:
        definition_id = _stored(connection, account_id, parsed)
        known = mappings.of_definition(connection, definition_id)
        if known is not None:
            return _imported(known, definition_id, parsed, version=known.current_version)
        return _new(connection, account_id, definition_id, parsed, first)


def foresee(
    database: Database, account_id: UUID, name: str, data: bytes, *, mapping: UUID | None = None
) -> tuple[Inventory, MappingContent]:
    """What an import would find and what its mapping would say, with nothing written.

    Raises:
        BadInput, NotFound: as `import_definition`.
    """
    parsed = _parse(database, account_id, name, data)
    with database.account(account_id) as connection:
        definition = definitions.by_hash(connection, parsed.content_hash)
        found = None
        if mapping is not None:
            found = mappings.by_id(connection, mapping)
            if found is None:
                raise NotFound(f"There is no mapping {mapping} in this account.")
        elif definition is not None:
            found = mappings.of_definition(connection, definition.id)
        current = None if found is None else versions.by_number(connection, found.id, found.current_version)
    if current is None:
        return parsed.inventory, from_inventory(parsed.inventory)
    if current.content_hash == parsed.content_hash:
        return parsed.inventory, current.content
    return parsed.inventory, carry_over(current.content, parsed.inventory)


def find_mapping(database: Database, account_id: UUID, text: str) -> UUID:
    """The mapping of that id or name.

    Raises:
        NotFound: the account has none.
        BadInput: it has several of that name.
    """
    with database.account(account_id) as connection:
        try:
            found = mappings.by_id(connection, UUID(text))
            named = [] if found is None else [found]
        except ValueError:
            named = mappings.named(connection, text)
    if not named:
        raise NotFound(f"There is no mapping `{text}`. `./longhaul enrich FILE` makes one.")
    if len(named) > 1:
        ids = ", ".join(str(one.id) for one in named)
        raise BadInput(f"There are {len(named)} mappings named `{text}`. Give the id of one: {ids}.")
    return named[0].id


def _parse(database: Database, account_id: UUID, name: str, data: bytes) -> _Parsed:
    """Walk the definition, unless an inventory of exactly these bytes is at hand."""
    content_hash = hashlib.sha256(data).hexdigest()
    with database.account(account_id) as connection:
        known = definitions.by_hash(connection, content_hash)
    if known is not None:
        try:
            return _Parsed(name, data, content_hash, Inventory.model_validate(known.inventory), known.inventory)
        except ValidationError:
            pass  # walked by another version of this program: walk it again
    inventory = parse(data, name)
    return _Parsed(name, data, content_hash, inventory, inventory.model_dump(mode="json", exclude_defaults=True))


def _stored(connection: Connection, account_id: UUID, parsed: _Parsed) -> UUID:
    """The definition's row, held until the transaction ends: who imports the same meanwhile waits for its mapping."""
    held = definitions.held(connection, parsed.content_hash)
    if held is not None:
        return held
    return definitions.store(
        connection,
        account_id,
        name=parsed.file,
        content_hash=parsed.content_hash,
        media=parsed.inventory.media,
        spec_version=parsed.inventory.spec_version,
        document=parsed.data,
        inventory=parsed.stored,
    )


def _new(connection: Connection, account_id: UUID, definition_id: UUID, parsed: _Parsed, first: JsonObject) -> Imported:
    name = parsed.inventory.title.strip() or Path(parsed.file).stem
    mapping_id = mappings.create(connection, account_id, definition_id=definition_id, name=name)
    version = Version(1, definition_id, parsed.content_hash, first)
    versions.write(connection, account_id, mapping_id, version, origin="import")
    made = Mapping(mapping_id, definition_id, name, "Draft", None, 1)
    return _imported(made, definition_id, parsed, version=1, created=True)


def _onto(database: Database, account_id: UUID, mapping_id: UUID, parsed: _Parsed) -> Imported:
    """A new version of the definition under a mapping (D15).

    The texts are carried over between two short transactions; a mapping that moved meanwhile is looked at again.
    """
    while True:
        with database.account(account_id) as connection:
            mapping, current, before = _standing(connection, mapping_id)
        if before.content_hash == parsed.content_hash:
            return _imported(mapping, before.id, parsed, version=mapping.current_version)
        content = carry_over(current.content, parsed.inventory).to_json()
        changes = _changes(before, parsed.inventory)
        with database.account(account_id) as connection:
            held = mappings.held(connection, mapping_id)
            if held is None or held.current_version != current.number:
                continue
            _refuse_while_enriched(held)
            definition_id = _stored(connection, account_id, parsed)
            version = Version(current.number + 1, definition_id, parsed.content_hash, content)
            versions.write(connection, account_id, mapping_id, version, origin="import")
            mappings.move(connection, mapping_id, version=version.number, definition_id=definition_id)
        return _imported(mapping, definition_id, parsed, version=version.number, changes=changes)


def _standing(connection: Connection, mapping_id: UUID) -> tuple[Mapping, Version, Definition]:
    """A mapping that may get a new version, its current one, and the definition of that."""
    mapping = mappings.by_id(connection, mapping_id)
    if mapping is None:
        raise NotFound(f"There is no mapping {mapping_id} in this account.")
    current = versions.by_number(connection, mapping_id, mapping.current_version)
    before = definitions.by_id(connection, mapping.definition_id)
    if current is None or before is None:
        raise NotFound(f"The mapping `{mapping.name}` has lost its definition. Import it as a new mapping.")
    return mapping, current, before


def _refuse_while_enriched(mapping: Mapping) -> None:
    if mapping.enriching_run_id is not None:
        raise Conflict(
            f"The mapping `{mapping.name}` is being enriched: its definition can't change meanwhile. "
            f"Wait for run {mapping.enriching_run_id}, or cancel it.",
            open_id=str(mapping.enriching_run_id),
        )


def _changes(before: Definition, after: Inventory) -> Changes:
    """What is new; nothing can be said of a definition that another version of this program has walked."""
    try:
        return compare(Inventory.model_validate(before.inventory), after)
    except ValidationError:
        return _NO_CHANGES


def _imported(
    mapping: Mapping,
    definition_id: UUID,
    parsed: _Parsed,
    *,
    version: int,
    created: bool = False,
    changes: Changes = _NO_CHANGES,
) -> Imported:
    return Imported(
        mapping_id=mapping.id,
        definition_id=definition_id,
        name=mapping.name,
        version=version,
        created=created,
        changes=changes,
        warnings=parsed.inventory.warnings,
        operations=len(parsed.inventory.operations),
    )
