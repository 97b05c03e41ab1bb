"""The README keeps its word: its commands exist, its first one does what it says, and its excerpt is real."""

import re
from pathlib import Path

from base.terminal.exits import Exit
from tests.cli.running import ROOT, longhaul, on
from tests.services.postgres import Clone

_PAGE = (ROOT / "README.md").read_text(encoding="utf-8")
_ROW = re.compile(
    r"^\| `(?P<token>[^`]+)` \| (?P<before>.+?) \| (?P<after>.+?) \| (?P<description>.+?) \|$", re.MULTILINE
)


def test_its_two_commands_stand_there_word_for_word() -> None:
    block = _PAGE.partition("```\n")[2].partition("```")[0]
    assert block.splitlines() == [
        "./longhaul enrich examples/epa-cwa.json --reference examples/epa-cwa-dictionary.json",
        "./longhaul test",
    ]


def test_what_it_points_to_is_there() -> None:
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", _PAGE) if "://" not in link]
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_its_excerpt_is_what_the_command_says(clone: Clone, tmp_path: Path) -> None:
    done = longhaul(
        "enrich",
        ROOT / "examples" / "epa-cwa.json",
        "--reference",
        ROOT / "examples" / "epa-cwa-dictionary.json",
        "--json",
        env=on(clone),
        cwd=tmp_path,
    )
    assert done.code == Exit.DONE, done.said
    said = {
        (change["token"], change["name_before"] or "-", change["name_after"] or "(kept)"): _words(change)
        for change in done.json["changes"]
    }
    rows = list(_ROW.finditer(_PAGE))
    assert len(rows) >= 6
    for row in rows:
        description = said.get((row["token"], row["before"], row["after"]))
        assert description is not None, row["token"]
        assert description.startswith(row["description"].removesuffix("...")), row["token"]
    assert sum(row["description"] != "(kept)" for row in rows) >= 3, "the dictionary's meanings are shown too"


def _words(change: dict[str, str | None]) -> str:
    return " ".join((change["description_after"] or "(kept)").split())
