"""Which endpoints a selector means: E11."""

import pytest

from actors.enrichment.selecting import resolve
from base.errors import BadInput
from base.ids import uuid7
from schema.enrichment.content import from_inventory
from tests.enrichment.making import inventory, operation

CONTENT = from_inventory(
    inventory(operation("/a", operation_id="listA"), operation("/a", method="POST"), operation("/b/{id}"))
)
IDS = [endpoint.id for endpoint in CONTENT.endpoints]


@pytest.mark.parametrize(
    ("selectors", "found"),
    [
        ([], []),
        (["GET::/a"], [0]),
        (["get::/a::listA"], [0]),
        (["GET::/b/{id}", "POST::/a::"], [1, 2]),
        ([str(IDS[2])], [2]),
    ],
)
def test_a_selector_names_method_and_path_and_perhaps_the_operation_id(selectors: list[str], found: list[int]) -> None:
    assert resolve(selectors, CONTENT) == tuple(IDS[place] for place in found)


@pytest.mark.parametrize("selector", ["GET::/c", "/a", "GET::/a::other", "GET /a", "*", ""])
def test_a_selector_that_matches_nothing_is_refused_with_an_example(selector: str) -> None:
    with pytest.raises(BadInput, match=r"No operation matches `.*Write it like `[A-Z]+::/"):
        resolve([selector], CONTENT)


def test_a_foreign_guid_is_left_to_the_run() -> None:
    stranger = uuid7()
    assert resolve([str(stranger), str(IDS[0])], CONTENT) == (IDS[0], stranger)
