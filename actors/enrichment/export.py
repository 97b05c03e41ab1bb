"""How a mapping's texts leave: the enriched definition and an overlay that says the same (D11)."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from actors.enrichment.context import inventory_of
from actors.enrichment.definition.parsing import enrich
from actors.enrichment.definition.written import Enriched, Written
from base.errors import BadInput, NotFound
from schema.engine import Database
from schema.enrichment import definitions, run_views, versions
from schema.enrichment.content import MappedEndpoint, MappingContent, Text
from schema.enrichment.inventory import Field, Inventory, Operation
from schema.enrichment.payloads import RunWarning


class NotWritten(BadInput):
    """The run is applied, its files are not there."""


@dataclass(frozen=True)
class Exported:
    """The files written, and what could not be."""

    paths: tuple[Path, ...]
    warnings: tuple[RunWarning, ...]


def export(database: Database, account_id: UUID, run_id: UUID, out: Path, stem: str | None = None) -> Exported:
    """Write the definition with all texts of the version a run made, and the overlay, into `out`.

    The files are called after `stem`, or after the imported definition. JSON stays JSON, YAML stays YAML. Texts
    of earlier runs and of people are in it too; the definition's own stay.

    Raises:
        NotFound: the account has no such run.
        BadInput: the run wrote no version.
        NotWritten: the folder can't be written; the run is as it was.
    """
    with database.account(account_id) as connection:
        run = run_views.one(connection, run_id)
        if run is None:
            raise NotFound(f"There is no run {run_id} in this account.")
        version = versions.of_run(connection, run_id)
        definition = definitions.by_id(connection, run.definition_id)
        document = definitions.document(connection, run.definition_id)
        chosen = frozenset(run_views.selection(connection, run_id))
    if version is None or definition is None or document is None:
        raise BadInput(f"Run {run_id} wrote nothing: it is {run.state}. There is nothing to export.")
    inventory = inventory_of(database, account_id, definition)
    written = tuple(texts(version.content, inventory))
    selected = {one.key for one in version.content.endpoints if str(one.id) in chosen} if chosen else None
    enriched = enrich(document.data, document.name, written, selected)
    return Exported(_save(enriched, out, stem or Path(document.name).stem, run_id), tuple(_warnings(enriched)))


def texts(content: MappingContent, inventory: Inventory) -> Iterator[Written]:
    """Every text that is not the definition's own, with its place in the document, in the definition's order."""
    name, description = _said(content.name), _said(content.description)
    if name or description:
        yield Written("/info", "", "mapping", title=name, description=description)
    mapped = {endpoint.key: endpoint for endpoint in content.endpoints}
    for operation in inventory.operations:
        if operation.key in mapped:
            yield from _of_endpoint(mapped[operation.key], operation)


def _of_endpoint(endpoint: MappedEndpoint, operation: Operation) -> Iterator[Written]:
    if name := _said(endpoint.name):
        yield Written(operation.pointer, operation.key, "endpoint", title=name)
    fields: dict[str, Field] = {field.key: field for field in (*operation.inputs, *operation.outputs)}
    for one in endpoint.fields:
        title, description = _said(one.name), _said(one.description)
        field = fields.get(one.key)
        if field is not None and (title or description):
            yield Written(field.pointer, operation.key, field.location, title=title, description=description)


def _said(text: Text | None) -> str | None:
    return text.value if text is not None and text.origin != "source" else None


def _save(enriched: Enriched, out: Path, stem: str, run_id: UUID) -> tuple[Path, ...]:
    """Both files whole, or both as they were: a full disk is met before either takes its name."""
    files = {
        out / f"{stem}.{kind}.{enriched.media}": data
        for kind, data in (("enriched", enriched.document), ("overlay", enriched.overlay))
        if data is not None
    }
    unfinished = {path: path.with_name(f"{path.name}.{run_id.hex}.part") for path in files}
    try:
        out.mkdir(parents=True, exist_ok=True)
        for path, data in files.items():
            unfinished[path].write_bytes(data)
        for path, part in unfinished.items():
            part.replace(path)
    except OSError as error:
        raise NotWritten(
            f"The results can't be written to {out}: {error.strerror}. The run itself is kept: "
            f"`./longhaul runs export {run_id} --out FOLDER` writes them, without asking anything again."
        ) from error
    finally:
        for part in unfinished.values():
            with suppress(OSError):
                part.unlink(missing_ok=True)
    return tuple(files)


def _warnings(enriched: Enriched) -> Iterator[RunWarning]:
    for warning in enriched.warnings:
        yield RunWarning(code=warning.code, text=warning.text)
    if enriched.conflicts:
        first = enriched.conflicts[0]
        yield RunWarning(
            code="texts_conflict",
            text=f"{len(enriched.conflicts)} places in the document are shared by endpoints with different texts; the "
            f"first was written. One of them: {first.pointer}.",
        )
