"""From bytes to a document: tolerant of how it is written, and one clear sentence where there is none."""

import codecs
from pathlib import Path
from typing import Any

import pytest

from actors.enrichment.definition import yaml_reading
from actors.enrichment.definition.reading import Source, read
from actors.enrichment.definition.recognising import spec_version
from base.errors import BadInput
from tests.enrichment.definition.documents import DATA, source

LOADERS = [yaml_reading.FastLoader, yaml_reading.PureLoader]


def refused(data: bytes, *, limit: int = 50_000_000) -> str:
    with pytest.raises(BadInput) as error:
        spec_version(read(data, "shop.yaml", limit))
    sentence = str(error.value)
    assert sentence.startswith("shop.yaml ")
    assert sentence.endswith(".")
    assert "\n" not in sentence
    return sentence


# How it is written


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize(
    "text", ['{"openapi": "3.0.0", "info": {"title": "Größe"}}', "openapi: 3.0.0\ninfo: {title: Größe}"]
)
def test_every_unicode_encoding_is_read(encoding: str, text: str) -> None:
    found = source(text.encode(encoding))
    assert found.root["info"]["title"] == "Größe"
    assert found.text.encode(found.encoding) == text.encode(encoding)


def test_what_is_no_unicode_is_taken_as_latin_1() -> None:
    assert source("info: {title: Größe}".encode("latin-1")).root == {"info": {"title": "Größe"}}


@pytest.mark.parametrize(
    "text",
    [
        '{"a": "tab\there"}',
        '{"a": 1, "a": "tab\there"}',
        '{"a": "tab\there",}',
        '\n\t{"a": "tab\there"}',
    ],
    ids=["raw tab", "doubled key", "trailing comma", "white space first"],
)
def test_careless_json_is_read(text: str) -> None:
    assert source(text).root == {"a": "tab\there"}


def test_what_no_database_takes_is_left_out() -> None:
    found = source('{"a\\u0000": ["x\\ud800y", {"b": "\\u0000"}]}')
    assert found.root == {"a": ["xy", {"b": ""}]}
    assert source('a: "x\\0y"').root == {"a": "xy"}


def test_a_whole_surrogate_pair_is_kept() -> None:
    assert source('{"a": "\\ud83d\\ude00 \\u0000"}').root == {"a": "😀 "}


# YAML


@pytest.mark.parametrize("loader", LOADERS)
@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("2020-01-01", "2020-01-01"),
        ("2020-01-01T10:00:00Z", "2020-01-01T10:00:00Z"),
        ("12:30", "12:30"),
        ("no", "no"),
        ("Y", "Y"),
        ("on", "on"),
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("12", 12),
        ("-7", -7),
        ("007", "007"),
        ("0x1f", "0x1f"),
        ("1_000", "1_000"),
        ("1.5", 1.5),
        (".5", 0.5),
        ("1e3", 1000.0),
        (".nan", ".nan"),
        ("-", [None]),
        ('"12"', "12"),
        ("'true'", "true"),
        ("!!str 12", "12"),
        ("!include other.yaml", "other.yaml"),
        ("9" * 5000, "9" * 5000),
    ],
)
def test_plain_yaml_values_follow_the_core_schema(loader: type[Any], written: str, meant: object) -> None:
    node = yaml_reading.compose(f"a:\n  {written}", loader)
    assert node is not None
    value = yaml_reading.construct(node, "shop.yaml")["a"]
    assert value == meant
    assert type(value) is type(meant)


@pytest.mark.parametrize("loader", LOADERS)
def test_yaml_keys_are_names_as_written(loader: type[Any]) -> None:
    text = "200: a\nno: b\n2020-01-01: c\n1.0: d\n? [x, y]\n: e\n"
    node = yaml_reading.compose(text, loader)
    assert node is not None
    assert list(yaml_reading.construct(node, "x")) == ["200", "no", "2020-01-01", "1.0", "?"]


def test_merge_keys_give_way_to_written_ones() -> None:
    text = "base: &b {x: 1, y: 1}\nmore: &m {y: 2, z: 2}\na: {<<: [*b, *m], x: 0}\nb: {<<: *b}\nc: {'<<': 1}"
    root = source(text).root
    assert root["a"] == {"x": 0, "y": 1, "z": 2}
    assert root["b"] == {"x": 1, "y": 1}
    assert root["c"] == {"<<": 1}


def test_a_doubled_yaml_key_is_tolerated() -> None:
    assert source("a: 1\na: 2").root == {"a": 2}


def test_aliases_stand_for_the_same_value() -> None:
    assert source("a: &x {b: [1]}\nc: *x\nd: [*x, *x]").root["d"] == [{"b": [1]}, {"b": [1]}]


def test_many_honest_aliases_are_no_bomb() -> None:
    text = "a: &x [1, 2, 3, 4, 5, 6, 7, 8, 9]\nd:\n" + "  - *x\n" * 110_000
    assert len(source(text).root["d"]) == 110_000


# Refusals: one sentence each


def bomb(levels: int) -> bytes:
    lines = ["l0: &l0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]" for n in range(1, levels)]
    return ("openapi: 3.0.0\n" + "\n".join(lines)).encode()


def test_an_alias_bomb_is_refused_before_it_goes_off() -> None:
    assert "aliases stand for more than 1,000,000 values" in refused(bomb(levels=30))


def test_a_value_that_contains_itself_is_refused() -> None:
    assert "contains itself through an alias" in refused((DATA / "yamlbomb-malicious.yaml").read_bytes())


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is empty: there is nothing to read"),
        (b" \n\t\n", "is empty"),
        (codecs.BOM_UTF8, "is empty"),
        (b"# only a comment\n", "is no API definition: it holds no keys"),
        (b"hello", "is no API definition: it is plain text"),
        (b"42", "is no API definition: it holds no keys"),
        (b"[1, 2]", "is no API definition: it is a list"),
        (b"<!DOCTYPE html><html></html>", "is a web page or XML"),
        (b"<?xml version='1.0'?><definitions/>", "is a web page or XML"),
        (
            b'{"openapi": "3.0.0",\n "paths": }}',
            "can't be read as JSON: unexpected character, expected a JSON value (line 2,",
        ),
        (b'{"openapi": "3.0.0", "paths": {"/a"', "can't be read as JSON"),
        (b"a: b\n\tc: d\n", "is neither JSON nor YAML: "),
        (b"a: [1, 2\nb: 3\n", "(line 2, column 2)"),
        (b"a: 1\n---\nb: 2\n", "a single document"),
        (b"%PDF-1.7\n\x00\x01\x02", "is neither JSON nor YAML"),
        (b"PK\x03\x04\x14\x00\x06\x00", "is neither JSON nor YAML"),
        (b'{"a":' * 2_000 + b"1" + b"}" * 2_000, "nested too deeply"),
        (b"\n".join(b" " * n + b"a:" for n in range(400)), "nested more than 300 levels deep"),
        (b"a: " + b"[" * 3_000, "nesting depth"),
        (b'{"info": {}}', "it has no `openapi` or `swagger` at its top"),
        (b"asyncapi: 3.0.0", "it is an AsyncAPI document"),
        (b"overlay: 1.0.0", "it is an Overlay for one"),
        (b'{"$schema": "http://json-schema.org/schema#"}', "it is a JSON Schema"),
        (b'{"info": {"_postman_id": "x"}, "item": []}', "it is a Postman collection"),
        (b"openapi: 4.0.0", "says it is OpenAPI 4.0.0, and only OpenAPI 3.0 and 3.1 and Swagger 2.0 are read"),
        (b"openapi: 2.0", "says it is OpenAPI 2.0"),
        (b"openapi: {}", "says it is OpenAPI of no version"),
        (b"openapi: true", "says it is OpenAPI of no version"),
        (b"swagger: '1.2'", "says it is Swagger 1.2"),
        (b"swagger: 3.0.0", "says it is Swagger 3.0.0"),
        (b'{"swaggerVersion": "1.2"}', "says it is Swagger 1.2"),
    ],
)
def test_what_is_no_definition_is_refused_in_one_sentence(data: bytes, said: str) -> None:
    assert said in refused(data)


def test_a_file_over_the_size_cap_is_refused_unread() -> None:
    said = refused(b"x" * 61_250_000)
    assert "has 61.2 MB and the limit is 50 MB" in said
    assert "LONGHAUL_LIMITS__DEFINITION_BYTES" in said
    assert "the limit is 0.001 MB" in refused(b"x" * 1_001, limit=1_000)


@pytest.mark.parametrize(
    ("written", "version"),
    [("openapi: 3.0.3", "3.0.3"), ("openapi: 3.0", "3.0"), ("openapi: 3.1", "3.1"), ("openapi: '3.1.0'", "3.1.0"),
     ("openapi: 3.2.0", "3.2.0"), ("openapi: 3.0.0-rc1", "3.0.0-rc1"), ("swagger: 2.0", "2.0"),
     ("swagger: '2.0'", "2.0")],
)  # fmt: skip
def test_versions_are_read_however_they_are_quoted(written: str, version: str) -> None:
    assert spec_version(source(written)) == version


def test_a_json_version_may_be_a_number() -> None:
    assert spec_version(source('{"swagger": 2.0}')) == "2.0"


def test_the_problem_never_quotes_the_document() -> None:
    assert "hunter2" not in refused(b"password: hunter2\n  x: [hunter2\ny: hunter2 }")


def test_the_source_keeps_its_text(tmp_path: Path) -> None:
    found: Source = source("a: 1  # why\n")
    assert (found.text, found.media) == ("a: 1  # why\n", "yaml")
    assert source('{"a": 1}').media == "json"
