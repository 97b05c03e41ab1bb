"""Texts put in place: the result is the document that was meant, and every other byte is as it was."""

import difflib
import json
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.enrichment.definition.edits import Edit
from actors.enrichment.definition.enriched import applied
from actors.enrichment.definition.places import json_places, yaml_places
from actors.enrichment.definition.refs import at, step
from actors.enrichment.definition.splicing import CannotSplice, splice
from tests.enrichment.definition.documents import source


def spliced(text: str, *edits: Edit) -> str:
    """The text with the edits, checked against the document that they mean."""
    found = source(text)
    pointers = [edit.pointer for edit in edits]
    places = yaml_places(found.node, pointers) if found.node else json_places(text, pointers)
    result = splice(text, places, edits)
    assert source(result).root == applied(found.root, edits)
    return result


def changed_lines(before: str, after: str) -> list[str]:
    return [line for line in difflib.ndiff(before.splitlines(), after.splitlines()) if line[0] in "+-"]


JSON_TEXT = """{
  "info": {
    "title": "Shop",
    "version": "1.10"
  },
  "a": {"type": "string", "enum": [1.0, 1e2, "\\u00e9"]},
  "b": {},
  "c": { "$ref": "#/a" },
  "d": {
    "$ref": "#/a",
    "x": [
      1
    ]
  }
}
"""


@pytest.mark.parametrize(
    ("edit", "lines"),
    [
        (Edit("/info", {"title": "New"}), ['-     "title": "Shop",', '+     "title": "New",']),
        (Edit("/info", {"description": "D"}), ['+     "description": "D",']),
        (
            Edit("/a", {"title": "T", "description": "D"}),
            [
                '-   "a": {"type": "string", "enum": [1.0, 1e2, "\\u00e9"]},',
                '+   "a": {"title": "T", "description": "D", "type": "string", "enum": [1.0, 1e2, "\\u00e9"]},',
            ],
        ),
        (Edit("/b", {"title": "T"}), ['-   "b": {},', '+   "b": {"title": "T"},']),
        (
            Edit("/c", {"title": "T"}, wrap=True),
            ['-   "c": { "$ref": "#/a" },', '+   "c": {"title": "T", "allOf": [{ "$ref": "#/a" }]},'],
        ),
    ],
)
def test_json_changes_only_where_it_must(edit: Edit, lines: list[str]) -> None:
    assert changed_lines(JSON_TEXT, spliced(JSON_TEXT, edit)) == lines


def test_a_wrapped_json_object_is_laid_out_like_its_file() -> None:
    assert spliced(JSON_TEXT, Edit("/d", {"title": "T"}, wrap=True)).endswith(
        """  "d": {
    "title": "T",
    "allOf": [
      {
        "$ref": "#/a",
        "x": [
          1
        ]
      }
    ]
  }
}
"""
    )


def test_compact_json_stays_compact() -> None:
    assert spliced(
        '{"a":{"b":1},"c":{"$ref":"#/a"}}', Edit("/a", {"title": "T"}), Edit("/c", {"title": "U"}, wrap=True)
    ) == ('{"a":{"title":"T","b":1},"c":{"title":"U","allOf":[{"$ref":"#/a"}]}}')


def test_a_new_object_in_the_way_of_a_text() -> None:
    assert spliced('{"a": {"name": "p"}}', Edit("/a", {"schema": {"title": "T"}})) == (
        '{"a": {"schema": {"title": "T"}, "name": "p"}}'
    )


def test_letters_are_escaped_where_the_file_escapes_them() -> None:
    assert (
        spliced('{"a": {"b": "\\u00e9"}}', Edit("/a", {"title": "é"})) == '{"a": {"title": "\\u00e9", "b": "\\u00e9"}}'
    )
    assert "é" in spliced('{"a": {"b": "é"}}', Edit("/a", {"title": "é"}))


def test_the_last_of_a_doubled_key_counts() -> None:
    assert spliced('{"a": {"t": 1, "t": 2}}', Edit("/a", {"t": "x"})) == '{"a": {"t": 1, "t": "x"}}'


def test_braces_and_quotes_in_strings_mislead_nobody() -> None:
    text = '{"x": "}{\\"]", "a\\"b": [{"k": "\\\\"}, {"t": "[,:"}]}'
    assert spliced(text, Edit(step("", 'a"b', 1), {"t": "new"})).endswith('[{"k": "\\\\"}, {"t": "new"}]}')


YAML_TEXT = """# The shop's API
openapi: 3.1.0   # newest
info:
  title: Shop
  version: "1.10"
  description: |
    Several
    lines.

    # no comment
# about paths
paths:
  /a:
    get:
      parameters:
        - name: p
          in: query
          schema: {type: string, enum: [no, 'yes']}
        - $ref: '#/x'   # shared
        - name: q
          description:
          schema:
            $ref: "#/x"
            example: |
              kept
                as it is
      description: >-
        folded
        text
empty: {}
größe: {ä: ü}
"""


@pytest.mark.parametrize(
    ("edit", "lines"),
    [
        (Edit("/info", {"title": "New: #1"}), ["-   title: Shop", '+   title: "New: #1"']),
        (
            Edit("/info", {"description": "One"}),
            [
                "-   description: |",
                '+   description: "One"',
                "-     Several",
                "-     lines.",
                "- ",
                "-     # no comment",
            ],
        ),
        (
            Edit("/paths/~1a/get", {"summary": "List", "description": "D"}),
            [
                '+       summary: "List"',
                "-       description: >-",
                '+       description: "D"',
                "-         folded",
                "-         text",
            ],
        ),
        (Edit("/paths/~1a/get/parameters/0", {"description": "D"}), ['+           description: "D"']),
        (
            Edit("/paths/~1a/get/parameters/0/schema", {"title": "T"}),
            [
                "-           schema: {type: string, enum: [no, 'yes']}",
                "+           schema: {title: \"T\", type: string, enum: [no, 'yes']}",
            ],
        ),
        (
            Edit("/paths/~1a/get/parameters/2", {"description": "D"}),
            ["-           description:", '+           description: "D"'],
        ),
        (
            Edit("/paths/~1a/get/parameters/1", {"title": "T"}, wrap=True),
            [
                '+         - title: "T"',
                "+           allOf:",
                "-         - $ref: '#/x'   # shared",
                "+             - $ref: '#/x'   # shared",
            ],
        ),
        (Edit("/empty", {"title": "T"}), ["- empty: {}", '+ empty: {"title": "T"}']),
        (Edit("/größe", {"title": "ß"}), ["- größe: {ä: ü}", '+ größe: {title: "ß", ä: ü}']),
    ],
)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_yaml_keeps_its_comments_and_its_layout(edit: Edit, lines: list[str], line_end: str) -> None:
    text = YAML_TEXT.replace("\n", line_end)
    after = spliced(text, edit)
    assert changed_lines(text, after) == lines
    assert after.count("\n") - after.count("\r\n") == (0 if line_end == "\r\n" else after.count("\n"))


def test_a_wrapped_yaml_mapping_moves_with_all_it_holds() -> None:
    after = spliced(YAML_TEXT, Edit("/paths/~1a/get/parameters/2/schema", {"title": "T"}, wrap=True))
    assert after.partition("          schema:\n            title")[2].startswith(
        """: "T"
            allOf:
              - $ref: "#/x"
                example: |
                  kept
                    as it is
      description"""
    )


@pytest.mark.parametrize(
    "text", ["control \x7f\x85\u2028", "two\nlines", '"quotes" \\ and \t tabs', "😀", "- x", "yes", ""]
)
@pytest.mark.parametrize("document", ['{"a": {"b": 1}}', "a:\n  b: 1\n", "a: {b: 1}\n"])
def test_any_text_is_read_back_as_it_was(text: str, document: str) -> None:
    spliced(document, Edit("/a", {"title": text, "description": text}))


@pytest.mark.parametrize(
    "text",
    ["a: &x {b: 1}\nc: *x\n", "a: &x\n  b: 1\nc: {<<: *x, d: {e: 1}}\n", "x: &s\n  a: {t: 1}\nc:\n  <<: *s\n"],
)
def test_what_stands_somewhere_else_is_not_spliced_silently(text: str) -> None:
    found = source(text)
    assert found.node is not None
    edit = Edit("/c/a" if "x:" in text else "/c", {"t": "new"})
    try:
        result = splice(text, yaml_places(found.node, [edit.pointer]), [edit])
    except CannotSplice:
        return
    assert source(result).root != applied(found.root, [edit]) or "c: {" in text


# Any document, however it is laid out

KEYS = st.sampled_from(["a", "b", "title", "name", "description", "a/b", "~", "é", "1", "true", "x y", '"', "{"])
TEXTS = st.sampled_from(["title", "name", "description", "summary"])
SCALARS = st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["", "x", "}", "no", "# x", "a: b", "é\n"])
DOCUMENTS = st.dictionaries(
    KEYS,
    st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3)),
    min_size=1,
    max_size=4,
)


def objects(value: Any, pointer: str = "") -> list[str]:
    found = [pointer] if isinstance(value, dict) else []
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        found += objects(child, step(pointer, key))
    return found


def may_hold_a_text(value: dict[str, Any], key: str) -> bool:
    """Texts take the place of texts; one that takes the place of an object or a list may need the file written anew."""
    return not isinstance(value.get(key), (dict, list))


def layouts(document: Any) -> dict[str, str]:
    return {
        "compact": json.dumps(document, separators=(",", ":")),
        "one line": json.dumps(document, ensure_ascii=False),
        "two": json.dumps(document, indent=2),
        "tabs": json.dumps(document, indent="\t").replace("\n", "\r\n"),
        "block": yaml.safe_dump(document, allow_unicode=True, sort_keys=False),
        "flow": yaml.safe_dump(document, default_flow_style=True, width=20),
        "mixed": yaml.safe_dump(document, default_flow_style=None, indent=4),
    }


@settings(max_examples=200, deadline=None)
@given(document=DOCUMENTS, data=st.data())
def test_any_document_in_any_layout_is_edited_in_place(document: dict[str, Any], data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.sampled_from(objects(document)), min_size=1, max_size=3, unique=True))
    keys = data.draw(st.sets(TEXTS, min_size=1, max_size=2))
    edits = [
        Edit(pointer, {key: f"new {key}" for key in sorted(keys) if may_hold_a_text(at(document, pointer), key)})
        for pointer in chosen
        if not any(other != pointer and (pointer == "" or other.startswith(f"{pointer}/")) for other in chosen)
    ]
    layout = data.draw(st.sampled_from(sorted(layouts(document))))
    spliced(layouts(document)[layout], *edits)
