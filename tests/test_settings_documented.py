"""docs/settings.md and the settings classes say the same, both ways."""

import re
from datetime import timedelta
from pathlib import Path

import pytest

from base.settings import names

_PAGE = Path(__file__).resolve().parent.parent / "docs" / "settings.md"
_ROW = re.compile(
    r"^\| `(?P<name>[A-Z0-9_]+)` \| (?P<default>.+?) \| (?P<unit>.+?) \| (?P<meaning>.+?) \|$", re.MULTILINE
)


def _documented() -> dict[str, re.Match[str]]:
    return {row["name"]: row for row in _ROW.finditer(_PAGE.read_text(encoding="utf-8"))}


def _default(name: str, value: object) -> str:
    if name == "LONGHAUL_HOME":
        return "`.longhaul` in the clone"
    match value:
        case None:
            return "-"
        case timedelta():
            return f"`{value.total_seconds():g}`"
        case bool():
            return f"`{str(value).lower()}`"
        case _:
            return f"`{value}`"


def test_every_row_of_the_page_is_a_row_of_the_table() -> None:
    lines = [line for line in _PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    assert len(lines) == len(_documented())


def test_every_setting_is_documented_and_nothing_else_is() -> None:
    assert list(_documented()) == list(names())


@pytest.mark.parametrize("name", names())
def test_default_and_meaning_are_the_ones_in_the_code(name: str) -> None:
    field, row = names()[name], _documented()[name]
    assert row["default"] == _default(name, field.default)
    assert row["meaning"] == field.description


@pytest.mark.parametrize("name", names())
def test_a_quantity_has_a_unit(name: str) -> None:
    unit = _documented()[name]["unit"]
    if isinstance(names()[name].default, timedelta):
        assert unit == "seconds"
    else:
        assert unit.strip("- ")
