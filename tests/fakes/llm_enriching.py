"""A model that answers enrichment prompts correctly and always alike, so that whole runs can be tested.

It reads the last ```json block of the last user message and answers by that block's kind: chunk, overview or digest.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from tests.fakes.llm_replies import Answer
from tests.fakes.llm_server import Hold, Received, Reply


def enriching(*, usage: bool = True, piece: int = 200, pace: float = 0.0, hold: Hold | None = None) -> Reply:
    """Answer whatever pass is asked for."""
    return Answer(enriched, usage=usage, piece=piece, pace=pace, hold=hold)


def enriched(received: Received) -> str:
    """The answer to one prompt, as JSON."""
    data = asked(received.user)
    match data["kind"]:
        case "chunk":
            found = _chunk(data)
        case "overview":
            found = _overview(data)
        case "digest":
            found = {"entries": _digest(data)}
        case kind:
            raise AssertionError(f"a prompt of an unknown kind: {kind}")
    return json.dumps(found, ensure_ascii=False)


def asked(prompt: str) -> Any:
    """What the last ```json block of a prompt holds."""
    start = prompt.rindex("```json") + len("```json")
    return json.loads(prompt[start : prompt.rindex("```")])


def name_of(token: str) -> str:
    """The name this model gives a token: better than its split words, and the same everywhere."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", token)
    return "Scripted " + " ".join(word.capitalize() for word in words or [token])


def description_of(token: str, operation: Mapping[str, Any]) -> str:
    """The description this model gives a token that no glossary explains."""
    return f"What {token} holds in {operation['method']} {operation['path']}."


def _chunk(data: Mapping[str, Any]) -> dict[str, Any]:
    targets = set(data.get("targets", ()))
    meanings = {entry["key"]: entry["meaning"] for entry in data.get("glossary", ())}
    endpoints, fields = [], []
    for operation in data["operations"]:
        named = f"Scripted {operation['method']} {operation['path']}" if "endpoint_names" in targets else None
        if "id" in operation:
            endpoints.append({"id": operation["id"], "name": named})
        for direction in ("input", "output"):
            for field in operation.get(f"{direction}s", ()):
                token = field["token"]
                meaning = meanings.get(token) or description_of(token, operation)
                fields.append(
                    {
                        "id": field["id"],
                        "name": name_of(token) if f"{direction}_field_names" in targets else None,
                        "description": meaning if f"{direction}_field_descriptions" in targets else None,
                    }
                )
    found: dict[str, Any] = {"endpoints": endpoints, "fields": fields}
    if "mapping" in data:
        found["mapping"] = _overview({"targets": data.get("targets", ()), **data["mapping"]})
    return found


def _overview(data: Mapping[str, Any]) -> dict[str, Any]:
    title = data.get("title", "")
    return {
        "name": f"Scripted {title}" if "mapping_name" in data.get("targets", ()) else None,
        "description": f"What {title} offers." if "mapping_description" in data.get("targets", ()) else None,
    }


def _digest(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Entries for lines such as `Key: meaning` or `Key,meaning` whose key is in the inventory."""
    known = {field for one in data["inventory"] for field in one["fields"]}
    entries: dict[str, dict[str, Any]] = {}
    for line in data["reference"].splitlines():
        key, _, rest = re.sub(r"[:,|\t]", "\0", line.strip(" |"), count=1).partition("\0")
        token, meaning = key.strip(' "`'), rest.strip(' "|')
        if token in known and meaning:
            entry = {"key": token, "kind": "field", "meaning": meaning, "endpoints": [], "note": ""}
            entries.setdefault(token, entry)
    return list(entries.values())
