"""The model that whole runs are tested with answers the prompts it is given."""

import json
from typing import Any

import pytest

from tests.clients.asking import ask, complete
from tests.fakes.llm_enriching import enriching
from tests.fakes.llm_server import LlmServer

FIELDS = [{"id": "f1", "token": "p_act", "path": "p_act"}, {"id": "f2", "token": "CWPName", "path": "Results.CWPName"}]
OPERATION = {"id": "o1", "method": "GET", "path": "/x", "inputs": FIELDS[:1], "outputs": FIELDS[1:]}


def answered(server: LlmServer, facts: dict[str, Any]) -> Any:
    server.default = enriching()
    prompt = f"Examples:\n```json\n{{}}\n```\nYour turn:\n```json\n{json.dumps(facts)}\n```"
    return json.loads(complete(server, ask(prompt)).text)


def test_a_chunk(server: LlmServer) -> None:
    facts = {
        "kind": "chunk",
        "targets": ["endpoint_names", "input_field_names", "output_field_descriptions"],
        "glossary": [{"key": "CWPName", "kind": "field", "meaning": "Name of the permit."}],
        "operations": [OPERATION],
    }

    assert answered(server, facts) == {
        "endpoints": [{"id": "o1", "name": "Scripted GET /x"}],
        "fields": [
            {"id": "f1", "name": "Scripted P Act", "description": None},
            {"id": "f2", "name": None, "description": "Name of the permit."},
        ],
    }


def test_an_overview(server: LlmServer) -> None:
    facts = {"kind": "overview", "targets": ["mapping_name"], "title": "Water", "operations": []}

    assert answered(server, facts) == {"name": "Scripted Water", "description": None}


@pytest.mark.parametrize("reference", ["p_act: Whether permits are active.", '"p_act","Whether permits are active."'])
def test_a_digest(server: LlmServer, reference: str) -> None:
    facts = {
        "kind": "digest",
        "inventory": [{"endpoint": "GET /x", "fields": ["p_act"]}],
        "reference": f"Fields\n{reference}\nother: nothing",
    }

    (entry,) = answered(server, facts)["entries"]

    assert (entry["key"], entry["meaning"]) == ("p_act", "Whether permits are active.")
