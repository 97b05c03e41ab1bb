"""How a table shares a terminal's width."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.terminal.tables import Column, fit


def _total(widths: list[int]) -> int:
    shown = [width for width in widths if width]
    return sum(shown) + 2 * max(0, len(shown) - 1)


def test_where_there_is_room_everything_is_whole() -> None:
    columns = (Column("id"), Column("text", cut=True), Column("more", fold=True, spare=1))
    assert fit(columns, [36, 50, 60], 200) == [36, 50, 60]


def test_an_id_is_never_cut_the_text_beside_it_is() -> None:
    assert fit((Column("id"), Column("text", cut=True)), [36, 100], 80) == [36, 42]


def test_what_can_be_spared_goes_before_a_text_becomes_unreadable() -> None:
    columns = (Column("id"), Column("model", cut=True, spare=1), Column("text", fold=True))
    assert fit(columns, [36, 40, 100], 64) == [36, 0, 26]
    assert fit(columns, [36, 40, 100], 80) == [36, 13, 27]


def test_the_highest_spare_goes_first() -> None:
    columns = (Column("a", spare=1), Column("b", spare=2), Column("c"))
    assert fit(columns, [10, 10, 10], 22) == [10, 0, 10]


@given(
    st.lists(
        st.tuples(st.integers(1, 200), st.sampled_from(("whole", "cut", "fold")), st.integers(0, 3)),
        min_size=1,
        max_size=9,
    ),
    st.integers(20, 300),
)
def test_it_fits_unless_what_may_not_be_cut_does_not(wanted: list[tuple[int, str, int]], width: int) -> None:
    columns = [Column("n", cut=kind == "cut", fold=kind == "fold", spare=spare) for _, kind, spare in wanted]
    naturals = [natural for natural, _, _ in wanted]
    widths = fit(columns, naturals, width)
    needed = [column.least(natural) for column, natural in zip(columns, naturals, strict=True) if not column.spare]
    assert _total(widths) <= max(width, _total(needed))
    for column, natural, given_width in zip(columns, naturals, widths, strict=True):
        assert given_width == 0 or column.least(natural) <= given_width <= natural
        assert given_width or column.spare


@pytest.mark.parametrize("width", [20, 80, 300])
def test_no_column_is_wider_than_its_longest_cell(width: int) -> None:
    assert all(given_width <= 7 for given_width in fit([Column("a", cut=True)] * 3, [7, 7, 7], width))
