"""How numbers, times and foreign text read."""

from datetime import UTC, datetime, timedelta

import pytest

from base.terminal.words import ago, amount, count, local, plain, span


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"),
        (0.9, "0 s"),
        (41, "41 s"),
        (60, "1 m"),
        (250, "4 m 10 s"),
        (3600, "1 h"),
        (7_380, "2 h 3 m"),
        (86_400, "1 d"),
        (439_200, "5 d 2 h"),
        (-3, "0 s"),
    ],
)
def test_a_duration_reads_in_its_two_largest_units(seconds: float, words: str) -> None:
    assert span(timedelta(seconds=seconds)) == words


def test_counts_have_their_thousands_apart_and_their_noun() -> None:
    assert count(12480) == "12,480"
    assert amount(1, "pass", "passes") == "1 pass"
    assert amount(2, "pass", "passes") == "2 passes"
    assert amount(0, "token") == "0 tokens"


def test_a_moment_that_never_was_is_a_dash() -> None:
    assert local(None) == "-"
    assert ago(None, datetime(2026, 1, 1, tzinfo=UTC)) == "-"


def test_ago_counts_from_the_moment_given() -> None:
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert ago(noon - timedelta(seconds=12), noon) == "12 s ago"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[31mred\x1b[0m", "a[31mred[0m"),
        ("one\r\n  two\tthree", "one two three"),
        ("bell\x07 nul\x00 c1\x9b31m", "bell nul c131m"),
        ("\u202egnirts\u202c", "gnirts"),
        ("Größe 水 é", "Größe 水 é"),
    ],
)
def test_no_text_commands_the_terminal(text: str, shown: str) -> None:
    assert plain(text) == shown
