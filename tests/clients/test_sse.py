from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.llm.wire.sse import EventReader


def events(*chunks: bytes) -> list[str]:
    reader = EventReader()
    return [event for chunk in chunks for event in reader.feed(chunk)] + reader.end()


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_events_are_read_whatever_ends_the_lines(end: str) -> None:
    text = end.join(["data: one", "", ": keep-alive", "", "event: x", "id: 7", "data: two", "data:  three", "", ""])

    assert events(text.encode()) == ["one", "two\n three"]


def test_an_event_is_given_as_soon_as_it_is_complete() -> None:
    reader = EventReader()

    assert reader.feed(b"data: o") == []
    assert reader.feed(b"ne\n") == []
    assert reader.feed(b"\n") == ["one"]


def test_a_last_event_without_its_blank_line_counts() -> None:
    assert events(b"data: one\n\ndata: tw", b"o") == ["one", "two"]


def test_a_byte_order_mark_and_a_field_without_space_are_read() -> None:
    assert events("\ufeffdata:one\n\n".encode()) == ["one"]


def test_what_is_no_data_gives_no_event() -> None:
    assert events(b"\n\n: comment\n\nretry: 3\n\nnonsense\n\ndatabase: x\n\n") == []


LINES = st.text(st.characters(exclude_characters="\r\n\ufeff", exclude_categories=["Cs"]), min_size=1)


@given(
    payloads=st.lists(st.lists(LINES, min_size=1, max_size=3), max_size=5),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    cuts=st.lists(st.integers(0, 400)) | st.just(range(400)),
)
def test_where_the_network_cuts_makes_no_difference(payloads: list[list[str]], end: str, cuts: Iterable[int]) -> None:
    whole = "".join("".join(f"data: {line}{end}" for line in lines) + end for lines in payloads).encode()
    places = sorted({0, *(cut for cut in cuts if cut < len(whole)), len(whole)})

    assert events(*(whole[a:b] for a, b in pairwise(places))) == ["\n".join(lines) for lines in payloads]
