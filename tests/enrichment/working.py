"""A bench for whole runs: a definition imported, a run asked for, claimed and worked on in this thread, as a worker
would, but step by step and without a broker.
"""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import text

from actors.enrichment.importing import import_definition
from actors.enrichment.reading import PassView, RunView, read_passes, read_run
from actors.enrichment.request import EnrichmentRequest, Reference, Requested, request_run
from actors.enrichment.run import LANE, TASK, run
from base.errors import HandOver, Permanent
from base.settings import load
from broker.held import Held
from broker.work import Work
from ledger import claiming, ending, running, workers
from ledger.claiming import Claim
from schema.engine import Database
from schema.enrichment import mappings, versions
from schema.enrichment.content import MappingContent
from schema.enrichment.payloads import EnrichmentPayload


def definition(paths: Mapping[str, Sequence[str]], *, title: str = "Waterworks") -> bytes:
    """An OpenAPI document: each path is a GET whose one response has these fields."""
    return json.dumps(
        {
            "openapi": "3.0.3",
            "info": {"title": title, "description": "All about water.", "version": "1"},
            "paths": {
                path: {
                    "get": {
                        "responses": {
                            "200": {
                                "description": "OK",
                                "content": {
                                    "application/json": {
                                        "schema": {
                                            "type": "object",
                                            "properties": {token: {"type": "string"} for token in tokens},
                                        }
                                    }
                                },
                            }
                        }
                    }
                }
                for path, tokens in paths.items()
            },
        }
    ).encode()


#: Twelve operations, four chunks of three, and the overview.
WATERWORKS = definition({f"/p{number}": [f"CwpX{number}", f"QtrNc{number}"] for number in range(12)})


@dataclass
class Bench:
    """One account with one mapping."""

    database: Database
    account_id: UUID
    mapping_id: UUID

    @classmethod
    def of(cls, database: Database, account_id: UUID, data: bytes = WATERWORKS) -> "Bench":
        return cls(database, account_id, import_definition(database, account_id, "waterworks.json", data).mapping_id)

    def ask(self, *references: tuple[str, str], glossary: str | None = None, **wishes: Any) -> Requested:
        request = EnrichmentRequest(
            self.mapping_id,
            references=tuple(Reference(name, said.encode()) for name, said in references),
            glossary=None if glossary is None else Reference("glossary.csv", glossary.encode()),
            **wishes,
        )
        return request_run(self.database, self.account_id, request, load())

    def claim(self) -> Claim | None:
        worker = workers.register(self.database, lanes=[LANE], tasks=[TASK])
        return claiming.claim(self.database, worker, LANE, [TASK])

    def work(self, *, during: Callable[[Held], None] = lambda _: None) -> Claim:
        """One claim of the open run, worked on until it ends or hands over. `during` gets the claim in hand."""
        claim = self.claim()
        assert claim is not None
        held = Held(claim)
        during(held)
        work = Work(claim, self.database, held=held)
        try:
            done = asyncio.run(run(work, EnrichmentPayload.model_validate(claim.payload)))
        except HandOver:
            self._part(held)
            ending.hand_over(self.database, claim, progressed=held.progressed)
        except Permanent as error:
            self._part(held)
            ending.fail(self.database, claim, reason=error.reason, error=error)
        else:
            self._part(held)
            ending.complete(self.database, claim, done.result, write=done.write, reason=done.reason)
        return claim

    def _part(self, held: Held) -> None:
        if held.parting is not None:
            running.checkpoint(self.database, held.claim, held.parting)

    def run(self, requested: Requested) -> RunView:
        return read_run(self.database, self.account_id, requested.run_id)

    def passes(self, requested: Requested) -> list[PassView]:
        return read_passes(self.database, self.account_id, requested.run_id)

    def mapping(self) -> mappings.Mapping:
        with self.database.account(self.account_id) as connection:
            found = mappings.by_id(connection, self.mapping_id)
        assert found is not None
        return found

    def content(self) -> MappingContent:
        number = self.mapping().current_version
        with self.database.account(self.account_id) as connection:
            version = versions.by_number(connection, self.mapping_id, number)
        assert version is not None
        return version.content

    def sql(self, statement: str, **parameters: object) -> list[Any]:
        """Look at, or change, what no function of the pipeline does."""
        with self.database.account(self.account_id) as connection:
            result = connection.execute(text(statement), parameters)
            return list(result) if result.returns_rows else []
