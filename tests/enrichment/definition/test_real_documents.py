"""Real definitions, counted. A number that changes means that the walker reads them differently: look at why."""

import pytest

from tests.enrichment.definition.documents import DATA, EXAMPLES, codes, inventory_of

#: file: version, operations, parameters, body and form fields, response fields, cut, warnings
COUNTS = {
    "circular-3.0.json": ("3.0.1", 1, 0, 0, 5, 0, []),
    "circular-paths-3.0.json": ("3.0.0", 3, 1, 7, 19, 0, []),
    "dialogporten-no.json": ("3.0.0", 29, 79, 311, 1_090, 0, []),
    "dup-operationid-broken.yaml": ("3.0.0", 2, 0, 0, 0, 0, ["duplicate_operation_id"]),
    "epa-cwa.json": ("3.0.0", 36, 367, 367, 2_772, 0, []),
    "epa-sdw.json": ("3.0.0", 8, 69, 69, 368, 0, []),
    "moov-ach.yaml": ("3.0.2", 19, 132, 1_932, 7_792, 734, ["external_reference", "fields_cut"]),
    "petstore-swagger2.json": ("2.0", 20, 14, 62, 53, 0, []),
    "train-travel-3.1.yaml": ("3.1.0", 7, 8, 25, 260, 0, ["webhooks_ignored"]),
}


@pytest.mark.parametrize("name", COUNTS)
def test_a_real_definition_is_read_as_before(name: str) -> None:
    folder = EXAMPLES if name.startswith("epa-cwa") else DATA
    found = inventory_of(folder / name)
    parameters = sum(
        one.location in {"path", "query", "header", "cookie"}
        for operation in found.operations
        for one in operation.inputs
    )
    counted = (
        found.spec_version,
        len(found.operations),
        parameters,
        sum(len(operation.inputs) for operation in found.operations) - parameters,
        sum(len(operation.outputs) for operation in found.operations),
        sum(operation.cut for operation in found.operations),
        codes(found),
    )
    assert counted == COUNTS[name]
    keys = [operation.key for operation in found.operations]
    assert len(set(keys)) == len(keys)


def test_the_example_is_known_by_its_cryptic_names() -> None:
    found = inventory_of(EXAMPLES / "epa-cwa.json")
    fields = [field for operation in found.operations for field in (*operation.inputs, *operation.outputs)]
    assert len({field.token for field in fields}) == 540
    assert {"p_c1lon", "CWPQtrsWithNC", "E90Exceeds5yr"} <= {field.token for field in fields}
    assert all(operation.operation_id == "" for operation in found.operations)


def test_a_path_item_that_refers_into_itself_has_its_fields() -> None:
    found = inventory_of(DATA / "circular-paths-3.0.json")
    assert [operation.key for operation in found.operations] == [
        "GET::/anything::",
        "POST::/anything::",
        "PUT::/anything::",
    ]
