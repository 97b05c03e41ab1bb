"""Every document that is passed on with the code has its source and licence written beside it."""

import re
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize(("folder", "page"), [("tests/data", "SOURCES.md"), ("examples", "README.md")])
def test_what_is_there_is_listed_and_nothing_else(folder: str, page: str) -> None:
    files = {path.name for path in (_ROOT / folder).iterdir() if path.name != page}
    text = (_ROOT / folder / page).read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE)) == files


def test_no_row_is_without_its_licence() -> None:
    for page in ("tests/data/SOURCES.md", "examples/README.md"):
        rows = re.findall(r"^\| `.+$", (_ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)
        assert all(re.search(r"domain|MIT|Apache|ISC|CC0", row) for row in rows), page
