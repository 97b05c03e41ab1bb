"""The offline model: names from identifiers, meanings from the glossary in the prompt, and nothing invented."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from clients.llm.model import Ask, LanguageModel, Message
from clients.llm.offline import OfflineModel

ALL = [
    "endpoint_names",
    "input_field_names",
    "input_field_descriptions",
    "output_field_names",
    "output_field_descriptions",
]


def ask(facts: Mapping[str, Any]) -> Ask:
    """The words around the facts are somebody else's business, and nothing this model reads."""
    messages = (Message("user", "Name things."),)
    return Ask(messages, schema={}, schema_name="answer", max_completion_tokens=100, temperature=0.2, facts=facts)


def answer(facts: Mapping[str, Any]) -> Any:
    return json.loads(asyncio.run(OfflineModel().complete(ask(facts))).text)


def chunk(
    *fields: Mapping[str, Any],
    glossary: list[dict[str, Any]] | None = None,
    targets: list[str] | None = None,
    **operation: Any,
) -> Any:
    whole = {"id": "o1", "method": "GET", "path": "/facilities", "outputs": list(fields)} | operation
    return answer(
        {"kind": "chunk", "targets": targets or ALL, "glossary": glossary or [], "operations": [whole]},
    )


def field(token: str, **more: Any) -> dict[str, Any]:
    return {"id": "f1", "token": token, "path": token} | more


def entry(key: str, meaning: str = "", **more: Any) -> dict[str, Any]:
    return {"key": key, "kind": "field", "meaning": meaning} | more


def test_names_come_from_the_identifier_and_descriptions_from_nowhere() -> None:
    assert chunk(field("custNo"))["fields"] == [{"id": "f1", "name": "Customer Number", "description": None}]


def test_a_meaning_is_quoted_word_for_word() -> None:
    meaning = "Whether the <b>permit</b> is in force:\nY or N."
    said = chunk(field("p_act"), glossary=[entry("p_act", meaning)])["fields"][0]
    assert said["description"] == "Whether the permit is in force: Y or N."
    assert said["name"] == "Act"


def test_a_name_in_the_glossary_beats_the_identifier() -> None:
    assert chunk(field("KENNR"), glossary=[entry("KENNR", name="Registration Number")])["fields"][0]["name"] == (
        "Registration Number"
    )
    assert chunk(field("zipcd"), glossary=[entry("ZIPCD", "Facility ZIP code, five digits.")])["fields"][0]["name"] == (
        "Facility ZIP Code"
    )


def test_a_name_may_stand_at_the_beginning_of_the_definitions_own_description() -> None:
    described = field("p_fn", description="<b>Facility Name</b> Filter. Enter one or more names.")
    assert chunk(described)["fields"] == [{"id": "f1", "name": "Facility Name Filter", "description": None}]


def test_a_phrase_that_has_nothing_of_the_token_is_no_name() -> None:
    assert chunk(field("kennr", description="Implicit parameter"))["fields"][0]["name"] == "Kennr"


def test_a_phrase_that_different_tokens_share_is_no_name() -> None:
    both = [field("abc", description="Any basic code."), field("abcd", description="Any basic code.") | {"id": "f2"}]
    assert [one["name"] for one in chunk(*both)["fields"]] == ["Abc", "Abcd"]
    known = [entry("k1", "Not used."), entry("k2", "Not used."), entry("k3", "Main code.")]
    three = [field("k1"), field("k2") | {"id": "f2"}, field("k3") | {"id": "f3"}]
    assert [one["name"] for one in chunk(*three, glossary=known)["fields"]] == ["K1", "K2", "Main Code"]


def test_the_definitions_own_title_beats_everything() -> None:
    known = [entry("custNo", "Something", name="Other")]
    assert chunk(field("custNo", title="Client"), glossary=known)["fields"][0]["name"] == "Client"


def test_a_scoped_meaning_counts_only_at_its_endpoints_and_before_a_global_one() -> None:
    known = [
        entry("amount", "Rain in an hour.", endpoints=["GET /hourly"]),
        entry("amount", "Rain at any time."),
        entry("depth", "Snow in an hour.", endpoints=["GET /hourly"]),
    ]
    both = [field("amount"), field("depth") | {"id": "f2"}]
    assert [one["description"] for one in chunk(*both, glossary=known, path="/hourly")["fields"]] == [
        "Rain in an hour.",
        "Snow in an hour.",
    ]
    assert [one["description"] for one in chunk(*both, glossary=known, path="/daily")["fields"]] == [
        "Rain at any time.",
        None,
    ]


def test_a_meaning_of_the_path_counts_before_one_of_the_token() -> None:
    known = [entry("date", "Any date."), entry("batch.date", "Date of the batch.")]
    assert chunk(field("date", path="batch.date"), glossary=known)["fields"][0]["description"] == "Date of the batch."


def test_only_what_is_asked_is_answered_and_every_id_is() -> None:
    said = chunk(field("custNo"), glossary=[entry("custNo", "A client.")], targets=["output_field_descriptions"])
    assert said == {
        "endpoints": [{"id": "o1", "name": None}],
        "fields": [{"id": "f1", "name": None, "description": "A client."}],
    }


def test_inputs_and_outputs_have_targets_of_their_own() -> None:
    said = chunk(field("custNo"), inputs=[field("ordNo") | {"id": "f2"}], targets=["input_field_names"])
    assert said["fields"] == [
        {"id": "f2", "name": "Order Number", "description": None},
        {"id": "f1", "name": None, "description": None},
    ]


def test_a_name_that_only_repeats_the_token_is_no_answer() -> None:
    assert chunk(field("Name"))["fields"][0]["name"] is None


def endpoint(**operation: Any) -> Any:
    return chunk(**operation)["endpoints"][0]["name"]


def test_endpoints_are_named_by_what_the_definition_says_of_them() -> None:
    assert endpoint(summary="Find a facility.", operation_id="getFac") == "Find a facility"
    assert endpoint(operation_id="listCustAccts") == "List Customer Accounts"
    assert endpoint() == "List Facilities"
    assert endpoint(path="/users/{id}") == "Get User"
    assert endpoint(path="/users", method="POST") == "Create Users"
    assert endpoint(path="/{id}") is None


def test_a_call_of_a_service_is_named_with_its_service_and_never_by_its_method() -> None:
    assert endpoint(path="/users.list") == "List Users"
    assert endpoint(path="/api/chat.postMessage", method="POST") == "Post Message (Chat)"
    assert endpoint(path="/rest_lookups.law_sections", method="POST") == "Law Sections (Rest Lookups)"
    assert endpoint(path="/chat.postMessage.json", method="POST") == "Post Message (Chat)"


def test_a_dot_before_a_form_a_version_or_a_parameter_names_no_service() -> None:
    assert endpoint(path="/users.json") == "List Users"
    assert endpoint(path="/users/{id}.json") == "Get User"
    assert endpoint(path="/files/v1.0", method="PUT") == "Update V1 0"
    assert endpoint(path="/geo.objects/{id}") == "Get Object"
    assert endpoint(path="/.well-known") == "Get Well Known"


def test_an_endpoint_without_an_id_is_not_asked() -> None:
    whole = {"method": "GET", "path": "/facilities", "outputs": [field("custNo")]}
    said = answer({"kind": "chunk", "targets": ALL, "operations": [whole]})
    assert (said["endpoints"], len(said["fields"])) == ([], 1)


def test_an_overview_tidies_what_the_definition_says() -> None:
    data = {"kind": "overview", "targets": ["mapping_name", "mapping_description"], "operations": []}
    assert answer(data) == {"name": None, "description": None}
    assert answer(data | {"title": " Water\n API", "description": "<p>About water.</p>"}) == {
        "name": "Water API",
        "description": "About water.",
    }
    assert answer(data | {"title": "Water", "targets": ["mapping_description"]})["name"] is None


def test_an_overview_may_ride_along_with_a_chunk() -> None:
    data = {"kind": "chunk", "targets": ["mapping_name"], "operations": [], "mapping": {"title": "Water API"}}
    assert answer(data) == {
        "mapping": {"name": "Water API", "description": None},
        "endpoints": [],
        "fields": [],
    }


def digest(reference: str, *fields: str, endpoints: tuple[str, ...] = ("GET /x",)) -> dict[str, tuple[str, list[str]]]:
    inventory = [{"endpoint": one, "fields": list(fields)} for one in endpoints]
    said = answer({"kind": "digest", "inventory": inventory, "reference": reference})
    return {one["key"]: (one["meaning"], one["endpoints"]) for one in said["entries"]}


def test_a_digest_quotes_definitions_of_known_names_only() -> None:
    reference = (
        "Intro: not a field.\n- custNo: Number of the client.\n`ordDt` = Day of the order.\nother: Not asked for."
    )
    assert digest(reference, "custNo", "ordDt") == {
        "custNo": ("Number of the client.", []),
        "ordDt": ("Day of the order.", []),
    }


def test_a_digest_reads_tables_and_records_as_far_as_a_cut_lets_it() -> None:
    assert digest("| Name | Text |\n|---|---|\n| custNo | The client's number |", "custNo") == {
        "custNo": ("The client's number", [])
    }
    cut = '[{"key": "cust_no", "text": "The client it is for"}, {"key": "ordDt", "te'
    assert digest(cut, "custNo", "ordDt") == {"custNo": ("The client it is for", [])}


def test_a_digest_quotes_nothing_that_the_reference_contradicts() -> None:
    reference = (
        "- custNo: Number of the client.\n- custNo: Number of the order.\n- ordDt: Day of it.\n- ordDt: Day of it."
    )
    assert digest(reference, "custNo", "ordDt") == {"ordDt": ("Day of it.", [])}


def test_a_bare_word_before_a_colon_is_a_key_only_if_written_like_one() -> None:
    assert digest("Note: look at the other page.\n`Note`: A remark on it.", "note") == {"note": ("A remark on it.", [])}


def test_a_digest_keeps_sections_to_their_endpoints() -> None:
    reference = "## hourly\n- amount: Rain in an hour.\n## gone\n- depth: Snow in a year."
    assert digest(reference, "amount", "depth", endpoints=("GET /hourly", "GET /daily")) == {
        "amount": ("Rain in an hour.", ["GET /hourly"])
    }


def test_without_a_question_there_is_an_empty_answer() -> None:
    for nothing in ({}, {"kind": "x"}, {"kind": None}):
        said = asyncio.run(OfflineModel().complete(ask(nothing)))
        assert (said.text, said.finish) == ("{}", "stop")


def test_tokens_are_estimated_and_reported() -> None:
    question = ask({"kind": "overview", "targets": ["mapping_name"], "title": "Water"})
    told: list[int] = []
    said = asyncio.run(OfflineModel().complete(question, on_tokens=told.append))
    assert said.usage.estimated
    assert said.usage.input_tokens == -(-sum(len(message.content) for message in question.messages) // 4)
    assert told == [said.usage.output_tokens] == [-(-len(said.text) // 4)]


def test_it_keeps_the_protocol_and_lets_the_loop_run() -> None:
    async def run() -> list[str]:
        model: LanguageModel = OfflineModel()
        order: list[str] = []
        other = asyncio.get_running_loop().create_task(_note(order))
        await model.complete(ask({"kind": "overview", "targets": []}))
        order.append("answered")
        await other
        await model.close()
        return order

    assert asyncio.run(run()) == ["loop", "answered"]


async def _note(order: list[str]) -> None:
    order.append("loop")
