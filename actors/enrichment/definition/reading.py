"""From the bytes of a file to the document in it, or one sentence why there is none.

JSON first where it looks like JSON, else YAML. Nothing is judged here but whether there is a document: strict
validators refuse one real definition in ten, for harm that isn't any (D4).
"""

import codecs
import json
import re
from dataclasses import dataclass
from typing import Any

import orjson
import yaml
from yaml.nodes import Node

from actors.enrichment.definition import yaml_reading
from base.errors import BadInput
from schema.enrichment.inventory import Media

EXPECTED = "Give an OpenAPI 3.0, 3.1 or Swagger 2.0 document as JSON or YAML."

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
#: Escapes that may stand for characters no database takes: NUL, and halves of surrogate pairs.
_SUSPICIOUS = re.compile(r"\\(?:0|x00|u0000|U0000|[uU][dD][89a-fA-F])")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


@dataclass(frozen=True)
class Source:
    """A document, and the text it was read from."""

    name: str
    text: str
    encoding: str
    media: Media
    root: dict[str, Any]
    #: The nodes with their places in the text, where it was read as YAML.
    node: Node | None = None


def read(data: bytes, name: str, limit: int) -> Source:
    """The document in `data`; `name` is what the file is called in sentences, `limit` is in bytes.

    Raises:
        BadInput: too large, empty, neither JSON nor YAML, or not a document of keys and values.
    """
    if len(data) > limit:
        raise BadInput(
            f"{name} has {len(data) / 1e6:,.1f} MB and the limit is {limit / 1e6:,.6g} MB: it was not read. "
            "Remove what isn't needed from it, or raise LONGHAUL_LIMITS__DEFINITION_BYTES."
        )
    text, encoding = decode(data)
    if not text.strip():
        raise BadInput(f"{name} is empty: there is nothing to read. {EXPECTED}")
    if text.lstrip()[:2] in {"<!", "<?", "<h", "<H"}:
        raise BadInput(
            f"{name} is a web page or XML, not an API definition. "
            "Download the document itself, often behind a link named 'raw' or 'openapi.json'."
        )
    root, media, node = _parse(text, name)
    if not isinstance(root, dict):
        raise BadInput(f"{name} is no API definition: {_what(root)}. {EXPECTED}")
    return Source(name, text, encoding, media, storable(root) if _SUSPICIOUS.search(text) else root, node)


def decode(data: bytes) -> tuple[str, str]:
    """The text and the encoding it is in: by its byte order mark, else UTF-8, UTF-16 or, as a last resort, Latin-1."""
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return data.decode(encoding, "replace"), encoding
    for position, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        if len(data) > 1 and data[position] == 0 and data[1 - position] != 0:
            return data.decode(encoding, "replace"), encoding
    try:
        return data.decode(), "utf-8"
    except UnicodeDecodeError:
        return data.decode("latin-1"), "latin-1"


def _parse(text: str, name: str) -> tuple[Any, Media, Node | None]:
    if text.lstrip()[0] not in "{[":
        return _yaml(text, name)
    try:
        return orjson.loads(text), "json", None
    except orjson.JSONDecodeError as error:
        problem = error
    try:  # a lone surrogate, a raw tab in a string, NaN: what careless writers leave behind
        return json.loads(text, strict=False), "json", None
    except RecursionError:
        raise BadInput(f"{name} can't be read: its values are nested too deeply. Give it without that part.") from None
    except ValueError:
        pass
    try:  # a trailing comma or a comment, which YAML allows
        return _yaml(text, name)
    except BadInput:
        raise BadInput(
            f"{name} can't be read as JSON: {problem.msg} (line {problem.lineno}, column {problem.colno}). "
            "Correct it there, or give another file."
        ) from None


def _yaml(text: str, name: str) -> tuple[Any, Media, Node | None]:
    try:
        node = yaml_reading.compose(text)
    except yaml.YAMLError as error:
        raise BadInput(
            f"{name} is neither JSON nor YAML: {_problem(error)}. Correct it there, or give another file."
        ) from None
    return (None if node is None else yaml_reading.construct(node, name)), "yaml", node


def _problem(error: yaml.YAMLError) -> str:
    """PyYAML's complaint and its place, without the lines of the document it likes to quote."""
    if isinstance(error, yaml.MarkedYAMLError):
        said = " ".join(filter(None, (error.context, error.problem)))
        mark = error.problem_mark or error.context_mark
        return f"{said} (line {mark.line + 1}, column {mark.column + 1})" if mark else said
    if isinstance(error, yaml.reader.ReaderError):
        return f"{error.reason} at position {error.position}"
    return "it can't be parsed"


def _what(root: object) -> str:
    if isinstance(root, list):
        return "it is a list, not a document of keys and values"
    return "it is plain text" if isinstance(root, str) else "it holds no keys"


def storable(value: Any) -> Any:
    """The same value without the characters that no database takes (D9)."""
    if isinstance(value, str):
        return _UNSTORABLE.sub("", value)
    if isinstance(value, list):
        return [storable(item) for item in value]
    if isinstance(value, dict):
        return {storable(key): storable(item) for key, item in value.items()}
    return value
