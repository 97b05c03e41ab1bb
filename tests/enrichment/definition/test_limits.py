"""The limits of the walk: each holds, and what lies beyond is counted, not forgotten."""

import string
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from actors.enrichment.definition import bodies, walking
from actors.enrichment.definition.shapes import Shape, Shapes
from tests.enrichment.definition.documents import api, codes, giving, outputs, walked

STRING = {"type": "string"}


def wide(count: int, prefix: str = "f") -> dict[str, Any]:
    return {"properties": {f"{prefix}{n}": STRING for n in range(count)}}


def test_a_body_keeps_a_thousand_fields_and_counts_the_rest() -> None:
    found = walked(giving(wide(1_234)))
    operation = found.operations[0]
    assert len(operation.outputs) == 1_000
    assert operation.cut == 234
    assert codes(found) == ["fields_cut"]
    assert "234 deep fields" in found.warnings[0].text
    assert "GET /a" in found.warnings[0].text


def test_the_cap_cuts_deep_fields_never_shallow_ones() -> None:
    schema = {"properties": {f"g{n}": wide(10) for n in range(500)}}
    found = outputs(giving(schema))
    assert len(found) == 1_000
    assert sum("." not in path for path in found) == 500


def test_paths_end_at_eight_names() -> None:
    schema: dict[str, Any] = STRING
    for _ in range(20):
        schema = {"properties": {"x": schema}}
    assert list(outputs(giving(schema)))[-1] == ".".join("x" * 8)


def test_a_body_that_multiplies_is_left_at_five_thousand_schemas(monkeypatch: pytest.MonkeyPatch) -> None:
    schemas = {
        f"S{level}": {"properties": {f"p{n}": {"$ref": f"#/components/schemas/S{level + 1}"} for n in range(30)}}
        for level in range(8)
    }
    looked = 0
    shape_of = Shapes.of

    def counting(self: Shapes, node: dict[str, Any], pointer: str) -> Shape:
        nonlocal looked
        looked += 1
        return shape_of(self, node, pointer)

    monkeypatch.setattr(Shapes, "of", counting)
    operation = walked(giving({"$ref": "#/components/schemas/S0"}, schemas=schemas | {"S8": STRING})).operations[0]
    assert looked <= bodies.MAX_NODES
    assert len(operation.outputs) == 1_000
    assert operation.cut > 1_000


def test_a_body_used_again_is_not_walked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0
    walk = bodies.BodyWalker._walk

    def counting(self: bodies.BodyWalker, body: Any) -> bodies.Walked:
        nonlocal calls
        calls += 1
        return walk(self, body)

    monkeypatch.setattr(bodies.BodyWalker, "_walk", counting)
    body = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/S"}}}}
    paths = {f"/{n}": {"get": {"responses": {"200": body, "400": body}}} for n in range(20)}
    found = walked(api(paths, components={"schemas": {"S": wide(5)}}))
    assert calls == 1
    assert sum(len(operation.outputs) for operation in found.operations) == 200


def large(bodies_of_each: list[int]) -> dict[str, Any]:
    """A definition whose operations answer so many fields each, all of schemas of their own."""
    return api(
        {
            f"/{n}": {"get": {"responses": {"200": {"content": {"application/json": {"schema": wide(count)}}}}}}
            for n, count in enumerate(bodies_of_each)
        }
    )


def test_a_large_document_shares_its_fields_fairly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walking, "MAX_FIELDS", 1_000)
    found = walked(large([5, 5, 300, 300, 300, 300]))
    kept = [len(operation.outputs) for operation in found.operations]
    assert kept[:2] == [5, 5]  # what they leave of their share goes to the others
    assert kept[2:] == [247, 247, 248, 248]
    assert [operation.cut for operation in found.operations] == [0, 0, 53, 53, 52, 52]


def test_every_body_keeps_what_a_prompt_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walking, "MAX_FIELDS", 100)
    assert {len(operation.outputs) for operation in walked(large([80] * 10)).operations} == {60}


def test_a_giant_document_stays_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walking, "MAX_FIELDS", 100)
    monkeypatch.setattr(walking, "MOST_FIELDS", 200)
    assert {len(operation.outputs) for operation in walked(large([80] * 20)).operations} == {10}


# Whatever the schema, the walk ends, holds its limits, and every field has a key and a place of its own.

NAMES = st.text(string.ascii_letters + "./~[]* $", min_size=1, max_size=6)
COMPONENTS = [f"S{n}" for n in range(5)]
LEAVES = st.sampled_from(
    [{}, True, None, "text", 7, {"type": "string"}, {"type": ["integer", "null"]}, {"enum": [1, "a", None]}]
) | st.sampled_from([{"$ref": f"#/components/schemas/{name}"} for name in [*COMPONENTS, "Missing"]])


def schemas_of(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    some = st.lists(inner, max_size=3)
    return st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(NAMES, inner, max_size=4),
            "allOf": some,
            "oneOf": some,
            "anyOf": some,
            "prefixItems": some,
            "items": inner,
            "additionalProperties": inner,
            "patternProperties": st.dictionaries(NAMES, inner, max_size=2),
            "required": st.lists(NAMES, max_size=2),
            "$ref": st.sampled_from([f"#/components/schemas/{name}" for name in COMPONENTS]),
            "description": st.text(max_size=5),
        },
    )


SCHEMAS = st.recursive(LEAVES, schemas_of, max_leaves=25)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    components=st.fixed_dictionaries(dict.fromkeys(COMPONENTS, SCHEMAS)),
    body=SCHEMAS,
    version=st.sampled_from(["3.0.3", "3.1.0"]),
)
def test_any_schema_is_walked_to_an_end(components: dict[str, Any], body: Any, version: str) -> None:
    document = giving(body, version=version, schemas=components)
    operation = walked(document).operations[0]
    keys = [field.key for field in operation.outputs]
    assert len(keys) == len(set(keys))
    assert len(keys) <= bodies.MAX_FIELDS
    for field in operation.outputs:
        assert isinstance(at_pointer(document, field.pointer), dict)
        assert field.path.endswith(field.token)
    assert walked(document) == walked(document)


def at_pointer(document: Any, pointer: str) -> Any:
    for escaped in pointer.split("/")[1:]:
        key = escaped.replace("~1", "/").replace("~0", "~")
        document = document[int(key)] if isinstance(document, list) else document[key]
    return document


@settings(max_examples=100, deadline=None)
@given(count=st.integers(0, 40), sizes=st.lists(st.integers(0, 400), max_size=40))
def test_shares_never_exceed_what_there_is_by_more_than_the_least(count: int, sizes: list[int]) -> None:
    budget = walking._Budget(len(sizes) + count)
    taken = [budget.take(size) for size in sizes]
    assert all(0 <= got <= size for got, size in zip(taken, sizes, strict=True))
    assert all(got >= min(size, walking.LEAST_SHARE) for got, size in zip(taken, sizes, strict=True))
