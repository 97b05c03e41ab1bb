"""A new version of a definition: what it adds, changes and leaves out."""

from typing import Any

from actors.enrichment.definition.comparing import Change, Changes, compare
from tests.enrichment.definition.documents import api, walked


def version(paths: dict[str, dict[str, Any]], **operation: Any) -> dict[str, Any]:
    return api(
        {
            path: {"get": {**operation, "responses": {"200": {"content": {"application/json": {"schema": schema}}}}}}
            for path, schema in paths.items()
        }
    )


def props(**properties: Any) -> dict[str, Any]:
    return {"properties": properties}


def compared(old: dict[str, Any], new: dict[str, Any]) -> Changes:
    return compare(walked(old), walked(new))


def test_the_same_definition_has_no_changes() -> None:
    document = version({"/a": props(x={})})
    assert not compared(document, document)


def test_operations_and_fields_come_and_go() -> None:
    old = version({"/a": props(x={}, y={}), "/old": props(z={})})
    new = version({"/new": props(z={}), "/a": props(y={}, w={})})
    assert compared(old, new) == Changes(
        added=(Change("GET::/new::"), Change("GET::/a::", "response|200|w")),
        gone=(Change("GET::/old::"), Change("GET::/a::", "response|200|x")),
    )


def test_a_field_that_stays_names_what_differs() -> None:
    old = version({"/a": props(x={"type": "string"}, y={"description": "old"})}, summary="A")
    new = version({"/a": props(x={"type": "integer", "enum": [1]}, y={"description": "new"})}, summary="B")
    found = compared(old, new)
    assert found
    assert found.changed == (
        Change("GET::/a::", differs=("summary",)),
        Change("GET::/a::", "response|200|x", ("type", "values")),
        Change("GET::/a::", "response|200|y", ("description",)),
    )
    assert (found.added, found.gone) == ((), ())


def test_a_schema_moved_into_a_component_changes_nothing_for_a_reader() -> None:
    old = version({"/a": props(x={"type": "string"})})
    new = version({"/a": {"$ref": "#/components/schemas/A"}})
    new["components"] = {"schemas": {"A": props(x={"type": "string"})}}
    assert not compared(old, new)
