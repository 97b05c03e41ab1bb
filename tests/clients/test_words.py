"""Identifiers as words: splitting, writing out, title case, and what counts as no better than the identifier."""

import pytest

from clients.llm import words


@pytest.mark.parametrize(
    ("identifier", "expected"),
    [
        ("custNo", ("cust", "No")),
        ("CWPQtrsWithNC", ("CWP", "Qtrs", "With", "NC")),
        ("ODFIIdentification", ("ODFI", "Identification")),
        ("HTTPServer", ("HTTP", "Server")),
        ("PWS_NAME", ("PWS", "NAME")),
        ("E90Exceeds5yr", ("E90", "Exceeds", "5", "yr")),
        ("addenda05", ("addenda", "05")),
        ("first2ndThing", ("first", "2nd", "Thing")),
        ("userIDs", ("user", "IDs")),
        ("Results.Items[].größeÄnderung", ("Results", "Items", "größe", "Änderung")),
        ("M_ROW$$", ("M", "ROW")),
        ("$$", ()),
    ],
)
def test_splits_an_identifier_into_its_words(identifier: str, expected: tuple[str, ...]) -> None:
    assert words.split(identifier) == expected


@pytest.mark.parametrize(
    ("identifier", "expected"),
    [
        ("custNo", "Customer Number"),
        ("totAmt", "Total Amount"),
        ("noEntries", "No Entries"),
        ("accts", "Accounts"),
        ("CdtrAcct", "Creditor Account"),
        ("TRANSACTION_CODE", "Transaction Code"),
        ("PWS_NAME", "PWS Name"),
        ("user_ids", "User IDs"),
        ("dateOfBirth", "Date of Birth"),
        ("p_lon", "Longitude"),
        ("KENNR", "Kennr"),
        ("x", "X"),
        ("", ""),
    ],
)
def test_names_write_abbreviations_out(identifier: str, expected: str) -> None:
    assert words.name(identifier) == expected


def test_plain_names_only_split() -> None:
    assert words.plain_name("custNo") == "Cust No"
    assert words.plain_name("p_lon") == "P Lon"


@pytest.mark.parametrize("suggested", ["custNo", "Cust No", "CUST NO", "cust_no", "", "  ", "!"])
def test_a_name_that_says_no_more_than_the_identifier_is_no_better(suggested: str) -> None:
    assert words.no_better_than_identifier(suggested, "custNo")


def test_a_name_that_says_more_is_better() -> None:
    assert not words.no_better_than_identifier("Customer Number", "custNo")
    assert words.no_better_than_identifier("Act", "p_act")


def test_only_the_raw_token_repeats_the_identifier() -> None:
    assert words.repeats_identifier("custNo ", "custNo")
    assert words.repeats_identifier(" ", "custNo")
    assert not words.repeats_identifier("Cust No", "custNo")
    assert not words.repeats_identifier("City", "city")


def test_the_list_names_its_sources_and_keeps_its_rules() -> None:
    text = words.ABBREVIATIONS.read_text("utf-8")
    rows = [line.split("\t") for line in text.splitlines() if not line.startswith("#")]
    assert "MIT, Copyright" in text
    assert all(len(row) == 3 and row[2] in {"al", "iso", "nlpcraft", "code"} for row in rows)
    assert [row[0] for row in rows] == sorted({row[0] for row in rows})
    assert all(len(short) >= 2 and short.isalpha() and word.isalpha() for short, word, _ in rows)
    assert not {"act", "id", "int", "no", "res", "rev"} & {row[0] for row in rows}
    assert words.abbreviations()["amt"] == "amount"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Facility ZIP code, five digits.", "Facility ZIP Code"),
        ("The number of the permit.", "Number of the Permit"),
        ("Air Facility System (AFS) ID.", "Air Facility System ID"),
        ("Code that tells whether it is open.", ""),
        ("Enter a complete street address.", ""),
        ("Insert blanks or zeros.", ""),
        ("Date to insert", "Date to Insert"),
        ("A name so long that nobody would write it on a form", ""),
        ("1 = yes, 2 = no", ""),
        ("", ""),
        ("of the same", ""),
    ],
)
def test_a_short_noun_phrase_at_the_beginning_of_a_text_is_a_name(text: str, expected: str) -> None:
    assert words.short_name(text) == expected


@pytest.mark.parametrize(
    ("token", "meaning", "expected"),
    [
        ("convPollutants", "Pounds of conventional pollutants.", "Conventional Pollutants"),
        ("violFlag", "Whether there are violations.", "Violation Flag"),
        ("ovrLmt", "The load over the limit.", "Over Limit"),
        ("p_reg", "A region of the agency.", "Region"),
    ],
)
def test_the_meaning_of_a_token_says_what_its_abbreviations_stand_for(token: str, meaning: str, expected: str) -> None:
    assert words.name(token, meaning) == expected


@pytest.mark.parametrize(
    ("token", "meaning", "expected"),
    [
        ("convRate", "The rate of conversion, by convention.", "Conversion Rate"),
        ("impWater", "Impaired or important water.", "Imp Water"),
        ("violFlag", "Whether viol is set, for a violation.", "Viol Flag"),
        ("maxAge", "The maxium age.", "Maximum Age"),
        ("eventDesc", "Describes the event.", "Event Description"),
        ("water", "The waterbody it flows into.", "Water"),
        ("count", "Facilities of the county.", "Count"),
        ("permit", "The permitting agency.", "Permit"),
        ("sort", "Hva man kan sortere etter.", "Sort"),
        ("st", "A statement.", "St"),
        ("transactionCode", "A TransactionCodeNumber of the entry.", "Transaction Code"),
    ],
)
def test_a_meaning_that_leaves_it_open_or_says_another_word_changes_nothing(
    token: str, meaning: str, expected: str
) -> None:
    assert words.name(token, meaning) == expected


def test_a_token_is_parted_where_another_way_to_write_it_is() -> None:
    assert words.recut("SDWAIDs", "SDWA_IDS") == "SDWA_IDs"
    assert words.name(words.recut("SDWAIDs", "SDWA_IDS")) == "SDWA IDs"


def test_a_phrase_is_related_to_the_tokens_it_could_be_short_for() -> None:
    assert words.is_related("Facility Name Filter", "p_fn")
    assert words.is_related("Quantity Ordered", "qtyOrd")
    assert words.is_related("Facility Street Address", "p_sa1")
    assert not words.is_related("Implicit Parameter", "kennr")


@pytest.mark.parametrize(
    ("word", "expected"),
    [("facilities", "facility"), ("processes", "process"), ("boxes", "box"), ("codes", "code"), ("status", "status")],
)
def test_a_plural_loses_its_ending(word: str, expected: str) -> None:
    assert words.singular(word) == expected
    assert words.singular(expected) == expected
