"""What the offline model says of a chunk and of a whole API: only what stands in the facts, or in the identifiers."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from clients.llm import words

Data = Mapping[str, Any]

#: Longest summary that may serve as a name as it is.
_NAME_CHARACTERS = 80
_ACTIONS = {"POST": "Create", "PUT": "Update", "PATCH": "Update", "DELETE": "Delete", "HEAD": "Check"}
_VERB_LIST = """
add approve archive assign build calculate cancel check close complete copy count create delete disable download
enable execute export fetch find generate get import invite list load lock login logout merge move open post preview
publish put query read register reject remove rename replace reset restore resume retry revoke run save search segment
send set share start stop submit sync test unlock update upload validate verify
"""
#: A path whose last part begins with one of these says itself what it does.
_VERBS = frozenset(_VERB_LIST.split())
#: Endings of a path that say in what form the answer comes, not what it is.
_FORMS = frozenset(["aspx", "csv", "geojson", "html", "json", "pdf", "php", "txt", "xlsx", "xml", "yaml", "yml", "zip"])


def chunk(data: Data) -> Data:
    """Names and descriptions for every id of a chunk, null where nothing is known or nothing was asked.

    Reads `targets`, `glossary` and `operations`, as whoever asks writes them; an operation without an
    id is not asked for its own name. Where the `mapping` rides along it is answered too.
    """
    targets = frozenset(data.get("targets", ()))
    glossary = _Glossary(data.get("glossary", ()))
    operations: Sequence[Data] = data.get("operations", ())
    described = _Phrases(
        (field.get("token", ""), field.get("description", ""))
        for operation in operations
        for field in (*operation.get("inputs", ()), *operation.get("outputs", ()))
    )
    mapping = {"mapping": overview({**data["mapping"], "targets": targets})} if "mapping" in data else {}
    return mapping | {
        "endpoints": [
            {"id": operation["id"], "name": _endpoint(operation, glossary) if "endpoint_names" in targets else None}
            for operation in operations
            if "id" in operation
        ],
        "fields": [
            {
                "id": field["id"],
                "name": _field_name(field, known, glossary, described)
                if f"{direction}_field_names" in targets
                else None,
                "description": _tidy(known.get("meaning", "")) or None
                if f"{direction}_field_descriptions" in targets
                else None,
            }
            for operation in operations
            for direction in ("input", "output")
            for field in operation.get(f"{direction}s", ())
            for known in [glossary.of(field, _place(operation), direction)]
        ],
    }


def overview(data: Data) -> Data:
    """The API's own `title` and `description`, tidied; null where it has none, or `targets` leave it out."""
    targets = frozenset(data.get("targets", ()))
    name, description = _tidy(data.get("title", "")), _tidy(data.get("description", ""))
    return {
        "name": name if name and "mapping_name" in targets else None,
        "description": description if description and "mapping_description" in targets else None,
    }


class _Phrases:
    """The names that texts begin with; one that texts about different tokens share is boilerplate and names nothing."""

    def __init__(self, texts: Iterable[tuple[str, str]]) -> None:
        self._tokens: dict[str, set[str]] = defaultdict(set)
        for token, text in texts:
            self._tokens[words.short_name(_tidy(text))].add(token.casefold())

    def name(self, text: str) -> str:
        """The name that this text begins with, or nothing."""
        name = words.short_name(_tidy(text))
        return name if len(self._tokens[name]) <= 1 else ""


class _Glossary:
    """The entries of one prompt by their key."""

    def __init__(self, entries: Sequence[Data]) -> None:
        self.meanings = _Phrases((str(entry.get("key", "")), entry.get("meaning", "")) for entry in entries)
        self._by_key: dict[str, list[Data]] = defaultdict(list)
        for entry in entries:
            self._by_key[str(entry.get("key", "")).casefold()].append(entry)

    def of(self, field: Data, place: str, direction: str) -> Data:
        """What holds for a field at its endpoint: by path before by token, scoped before global, its own kind first."""
        kind = "parameter" if direction == "input" else "field"
        for key in (field.get("path", ""), field.get("token", "")):
            holding = [entry for entry in self._by_key.get(key.casefold(), ()) if _holds(entry, place)]
            fitting = [entry for entry in holding if entry.get("kind") not in ("action", "endpoint")]
            if fitting:
                return min(fitting, key=lambda entry: (not entry.get("endpoints"), entry.get("kind") != kind))
        return {}

    def of_endpoint(self, operation: Data) -> Data:
        """What holds for an endpoint itself."""
        for key in (_place(operation), operation.get("operation_id", ""), operation.get("path", "")):
            for entry in self._by_key.get(key.casefold(), ()):
                if entry.get("kind") == "endpoint" and _holds(entry, _place(operation)):
                    return entry
        return {}


def _holds(entry: Data, place: str) -> bool:
    return not entry.get("endpoints") or place in entry["endpoints"]


def _place(operation: Data) -> str:
    return f"{operation.get('method', '').upper()} {operation.get('path', '')}"


def _field_name(field: Data, known: Data, glossary: _Glossary, described: _Phrases) -> str | None:
    """The definition's title, the reference's name, the phrase that its meaning begins with, or else the one that the
    definition's own description begins with, if it speaks of this token, or the identifier's words, written out by what
    it means.
    """
    token = field.get("token") or field.get("path", "").rsplit(".", 1)[-1]
    own = described.name(field.get("description", ""))
    said = (
        field.get("title", ""),
        known.get("name", ""),
        glossary.meanings.name(known.get("meaning", "")),
        own if words.is_related(own, token) else "",
    )
    meaning = _tidy(known.get("meaning", "") or field.get("description", ""))
    name = next((_tidy(text) for text in said if text.strip()), "") or words.name(token, meaning)
    return None if words.repeats_identifier(name, token) else name


def _endpoint(operation: Data, glossary: _Glossary) -> str | None:
    """The summary, the reference's name, the words of the operation id, or what method and path say."""
    known = glossary.of_endpoint(operation)
    said = (operation.get("summary", ""), known.get("name", ""), glossary.meanings.name(known.get("meaning", "")))
    for text in said:
        name = _tidy(text).rstrip(".")
        if 0 < len(name) <= _NAME_CHARACTERS:
            return name
    return words.name(operation.get("operation_id", "")) or _from_path(operation) or None


def _from_path(operation: Data) -> str:
    method = operation.get("method", "").upper()
    parts = [part for part in operation.get("path", "").split("/") if part]
    named = [part for part in parts if not part.startswith("{")]
    if not named:
        return ""
    before, _, last = named[-1].rpartition(".")
    if before and last.lower() in _FORMS:
        before, _, last = before.rpartition(".")
    if before and last[:1].isalpha() and named[-1] == parts[-1]:
        return _of_service(words.name(before), words.name(last))
    thing = words.name(f"{before}.{last}" if last.isdigit() else last)
    if thing.split(" ", 1)[0].lower() in _VERBS:
        return thing
    single = parts[-1].startswith("{")
    if single:
        thing = words.singular(thing)
    return f"{_ACTIONS.get(method) or ('Get' if single or not thing.endswith('s') else 'List')} {thing}"


def _of_service(service: str, call: str) -> str:
    """`chat.postMessage` is Post Message (Chat), `users.list` List Users: a call is only named whole with its service.

    It says itself what it does; that it is a POST adds nothing.
    """
    return f"{call} {service}" if call.lower() in _VERBS else f"{call} ({service})"


def _tidy(text: str) -> str:
    """Without markup, on one line."""
    return re.sub(r"\s+", " ", re.sub(r"</?[a-zA-Z][^<>]*>", " ", text)).strip()
