"""How an enrichment is asked for: checked, its files read, and in one transaction mapping taken, run created and job
enqueued (E1, E4, E5). The same request finds its open run; another one on that mapping is refused.
"""

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import orjson
from sqlalchemy import Connection

from actors.enrichment.cleaning import storable
from actors.enrichment.reference import glossary_file
from actors.enrichment.reference.text import extract
from actors.enrichment.run import LANE, TASK
from actors.enrichment.selecting import resolve
from actors.enrichment.wishes import differing
from base.errors import BadInput, Conflict, NotFound
from base.ids import uuid7
from base.settings import Settings
from broker.wake import wake
from clients.llm import from_settings
from ledger.inserting import insert
from ledger.reading import payload as payload_of
from schema.engine import Database
from schema.enrichment import mappings, runs, versions
from schema.enrichment.glossary import GlossaryEntry
from schema.enrichment.mappings import Mapping
from schema.enrichment.payloads import TARGETS, EnrichmentPayload, ReferenceText, Target
from schema.enrichment.runs import Run
from schema.enrichment.versions import Version


@dataclass(frozen=True)
class Reference:
    """A file as it was given."""

    name: str
    data: bytes


@dataclass(frozen=True)
class EnrichmentRequest:
    """What is asked of a mapping (E4). No targets means all; `selected` holds `METHOD::/path`, full operation keys or
    endpoint GUIDs, none means all endpoints.
    """

    mapping_id: UUID
    targets: tuple[str, ...] = ()
    selected: tuple[str, ...] = ()
    instructions: str = ""
    references: tuple[Reference, ...] = ()
    glossary: Reference | None = None
    only_missing: bool = False
    language: str | None = None
    model: str | None = None
    max_tokens: int | None = None


@dataclass(frozen=True)
class Requested:
    """The run that does it. `resumed`: it was open already, asked for alike."""

    run_id: UUID
    job_id: UUID
    lane: str
    resumed: bool


@dataclass(frozen=True)
class Texts:
    """The request's files, read."""

    references: tuple[ReferenceText, ...]
    glossary: tuple[GlossaryEntry, ...]


def request_run(database: Database, account_id: UUID, request: EnrichmentRequest, settings: Settings) -> Requested:
    """Create a run and enqueue its job, or find the open run of the same request.

    Raises:
        NotFound: the account has no such mapping.
        BadInput: an unknown target, a selector that matches nothing, a file that can't be read.
        Conflict: the mapping has an open run with other options; `open_id` is that run (E5).
        Misconfigured: the model can't be asked.
    """
    targets = known_targets(request.targets)
    who = _who_answers(settings, request.model)
    texts = read_texts(request, settings)
    while True:
        # A mapping that moved between the two transactions is looked at again.
        with database.account(account_id) as connection:
            version = _current_version(connection, request.mapping_id)
        selected = resolve(request.selected, version.content) if request.selected else ()
        asked = request_hash(request, targets, selected, version, who)
        with database.account(account_id) as connection:
            held = mappings.held(connection, request.mapping_id)
            if held is None or held.current_version != version.number:
                continue
            payload = _payload(request, targets, selected, texts)
            requested = _open_run(connection, held, asked, payload) or _create(
                connection, account_id, payload, version, asked=asked, who=who
            )
        wake(LANE, TASK)
        return requested


def known_targets(words: Sequence[str]) -> tuple[Target, ...]:
    """The targets in their order; all when none is named (E9).

    Raises:
        BadInput: a word that is no target.
    """
    for word in words:
        if word not in TARGETS:
            raise BadInput(f"There is no target `{word}`. Take one or more of: {', '.join(TARGETS)}.")
    return tuple(target for target in TARGETS if not words or target in words)


def read_texts(request: EnrichmentRequest, settings: Settings) -> Texts:
    """The text of every file, in the order given.

    Raises:
        BadInput: a file that can't be read; the sentence names it.
    """
    return Texts(
        references=tuple(
            ReferenceText(name=storable(one.name), text=extract(one.name, one.data, settings.limits))
            for one in request.references
        ),
        glossary=()
        if request.glossary is None
        else glossary_file.read(request.glossary.name, request.glossary.data, settings.limits),
    )


def request_hash(
    request: EnrichmentRequest,
    targets: Sequence[Target],
    selected: Sequence[UUID],
    version: Version,
    who: tuple[str, str],
) -> str:
    """Equal for requests that ask the same of the same: what finds an open run again."""
    files = [*request.references, *([request.glossary] if request.glossary else [])]
    said = [
        version.content_hash,
        targets,
        sorted(map(str, selected)),
        request.instructions,
        [[file.name, hashlib.sha256(file.data).hexdigest()] for file in files],
        request.glossary is not None,
        request.only_missing,
        request.language,
        who,
        request.max_tokens,
    ]
    return hashlib.sha256(orjson.dumps(said)).hexdigest()


def _who_answers(settings: Settings, model: str | None) -> tuple[str, str]:
    """Provider and model that these settings would ask; the worker that runs it notes its own."""
    asked = from_settings(settings, model)
    asyncio.run(asked.close())
    return asked.provider, asked.name


def _payload(
    request: EnrichmentRequest, targets: tuple[Target, ...], selected: tuple[UUID, ...], texts: Texts
) -> EnrichmentPayload:
    return EnrichmentPayload(
        run_id=uuid7(),
        mapping_id=request.mapping_id,
        targets=targets,
        selected_endpoint_ids=selected,
        instructions=storable(request.instructions),
        references=texts.references,
        glossary=texts.glossary,
        only_missing=request.only_missing,
        language=request.language,
        model=request.model,
        max_tokens=request.max_tokens,
    )


def _current_version(connection: Connection, mapping_id: UUID) -> Version:
    mapping = mappings.by_id(connection, mapping_id)
    version = None if mapping is None else versions.by_number(connection, mapping_id, mapping.current_version)
    if mapping is None or version is None:
        raise NotFound(f"There is no mapping {mapping_id} in this account. Import its definition first.")
    return version


def _open_run(connection: Connection, mapping: Mapping, asked: str, payload: EnrichmentPayload) -> Requested | None:
    """The open run of the mapping, if it was asked for alike; no open run, no answer (E5)."""
    if mapping.enriching_run_id is None:
        return None
    run = runs.by_id(connection, mapping.enriching_run_id)
    if run is not None and run.request_hash == asked:
        return Requested(run.id, run.job_id, LANE, resumed=True)
    raise Conflict(
        f"The mapping `{mapping.name}` is being enriched by run {mapping.enriching_run_id}, which was asked "
        f"otherwise ({_difference(connection, run, payload)}).",
        open_id=str(mapping.enriching_run_id),
    )


def _difference(connection: Connection, run: Run | None, payload: EnrichmentPayload) -> str:
    stored = None if run is None else payload_of(connection, run.job_id)
    options = [] if stored is None else differing(EnrichmentPayload.model_validate(stored), payload)
    return f"compare {', '.join(options)}" if options else "of another version of the definition, or another model"


def _create(
    connection: Connection,
    account_id: UUID,
    payload: EnrichmentPayload,
    version: Version,
    *,
    asked: str,
    who: tuple[str, str],
) -> Requested:
    """Run first, then its job, then the mapping: all or nothing (E1, E5)."""
    provider, model = who
    run = Run(
        id=payload.run_id,
        mapping_id=payload.mapping_id,
        job_id=uuid7(),
        definition_id=version.definition_id,
        mapping_version=version.number,
        request_hash=asked,
    )
    runs.create(
        connection,
        account_id,
        run,
        provider=provider,
        model=model,
        targets=payload.targets,
        selected=payload.selected_endpoint_ids,
    )
    insert(connection, TASK, payload, account_id=account_id, key=f"mapping:{run.mapping_id}", job_id=run.job_id)
    mappings.take(connection, run.mapping_id, run.id)
    return Requested(run.id, run.job_id, LANE, resumed=False)
