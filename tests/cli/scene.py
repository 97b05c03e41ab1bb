"""What tests of `enrich` act with: a small cryptic definition, a scripted model, and eyes on the tables."""

import json
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import dict_row

from tests.cli.running import on
from tests.fakes.llm_server import LlmServer
from tests.services.postgres import Clone, plain

#: One operation a chunk, so that a run has as many chunks as the definition has operations; beats that notice at once.
_QUICK = {
    "LONGHAUL_SEMANTIC_ENRICHMENT__CHUNK_SIZE_OPERATIONS": "1",
    "LONGHAUL_SEMANTIC_ENRICHMENT__RETRY_DELAY_SECONDS": "0",
    "LONGHAUL_ENRICHMENT_RUN_RECOVERY__HEARTBEAT_INTERVAL": "1",
}


def definition(folder: Path, *, operations: int = 3, name: str = "orders.json", fields: tuple[str, ...] = ()) -> Path:
    """An OpenAPI 3.0 document whose fields are `cstNo`, `totAmt` and such; every operation has its own."""
    paths = {
        f"/thing{n}": {
            "get": {
                "parameters": [{"name": f"p_cst{n}", "in": "query", "schema": {"type": "string"}}],
                "responses": {
                    "200": {"description": "ok", "content": {"application/json": {"schema": _schema(n, fields)}}}
                },
            }
        }
        for n in range(operations)
    }
    path = folder / name
    path.write_text(json.dumps({"openapi": "3.0.3", "info": {"title": "Orders", "version": "1"}, "paths": paths}))
    return path


def _schema(number: int, fields: tuple[str, ...]) -> dict[str, Any]:
    names = (f"cstNo{number}", f"totAmt{number}", *fields)
    return {"type": "object", "properties": {name: {"type": "string"} for name in names}}


def asking(clone: Clone, server: LlmServer, **settings: str) -> dict[str, str]:
    """The environment of a command that uses this database and asks this server, without waiting between attempts."""
    model = {"LONGHAUL_LLM__BASE_URL": server.url, "LONGHAUL_LLM__MODEL": "scripted"}
    return on(clone, **_QUICK, **model, **settings)


def rows(clone: Clone, query: str) -> list[dict[str, Any]]:
    """What a query finds, whatever account it belongs to."""
    with psycopg.connect(plain(clone.superuser_url), row_factory=dict_row) as connection:
        return connection.execute(query.encode()).fetchall()


def mappings(clone: Clone) -> list[dict[str, Any]]:
    """Every mapping as it stands, with its current version's content: what a run that applied nothing leaves alone."""
    return rows(
        clone,
        "SELECT m.id, m.status, m.enriching_run_id, m.current_version, v.content FROM mappings m "
        "JOIN mapping_versions v ON v.mapping_id = m.id AND v.number = m.current_version ORDER BY m.id",
    )
