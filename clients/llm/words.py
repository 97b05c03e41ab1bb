"""How an identifier is read as words: split, written out by a public list of abbreviations, put in title case (D12).

The list and where it comes from stand in `abbreviations.tsv`. Everything here is a rule about identifiers in general;
nothing knows a document.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

ABBREVIATIONS = Path(__file__).with_name("abbreviations.tsv")

_INITIALISM_LIST = """
api asn bic csv dns faq gps guid html http https iban id ids ip isbn iso json ldap mime pdf pii png rfc rss sku sms smtp
sql ssl ssn svg tcp tls ui upc uri url urls utc uuid vat vin vpn xml
"""
_SMALL_LIST = "a an and as at by for from in into of on or per the to via vs with"
#: Written in capitals wherever they stand.
_INITIALISMS = frozenset(_INITIALISM_LIST.split())
#: Written small inside a name.
_SMALL = frozenset(_SMALL_LIST.split())
_ARTICLES = frozenset(["a", "an", "the", "der", "die", "das", "ein", "eine"])
_NO_NOUN_PHRASE_LIST = """
are can contains display displays does enter equals gives has have how if indicate indicates is lists may must
provide provides return returns select shall shows specifies specify that these this used was were what when where
whether which who whose why will hat ist sind wird wurde
"""
#: Words that make a phrase a sentence or an instruction.
_NO_NOUN_PHRASE = frozenset(_NO_NOUN_PHRASE_LIST.split())
#: Words that make a phrase an instruction when it begins with them. Verbs that are nouns too (use, type) do not.
_INSTRUCTIONS = frozenset(["choose", "describe", "give", "ignore", "include", "insert", "omit", "refer", "write"])
#: Longest phrase that is taken as a name.
_NAME_WORDS = 5
#: Letters of an abbreviation that a meaning can explain: fewer fit too many words, more are a word themselves.
_LEAST_LETTERS, _MOST_LETTERS = 3, 6
#: Letters cut off at least: less is an ending of the same word.
_LEAST_CUT = 3
_INFLECTIONS = ("able", "ere", "ing", "ly")
_VOWELS = frozenset("aeiouyäöüåæø")
_ORDINAL_ENDINGS = ("st", "nd", "rd", "th")
_NO_LETTER = re.compile(r"[\W_]+")
#: By the convention of PL/SQL, `p_` marks a parameter; it says nothing about this one.
_PARAMETER_PREFIX = "p"
#: Longest run of capitals that is left as it is in an identifier of capitals only: probably an initialism.
_SHORT_CAPITALS = 3


def split(identifier: str) -> tuple[str, ...]:
    """The words of an identifier as it writes them: `CWPQtrsWithNC` is CWP, Qtrs, With, NC; `p_c1lon` is p, c1, lon."""
    return tuple(word for run in re.split(r"[\W_]+", identifier) if run for word in _words_of_run(run))


def name(identifier: str, meaning: str = "") -> str:
    """A readable name: words split, abbreviations written out, title case; `custNo` is Customer Number.

    The text that says what this identifier means knows better than any list what its abbreviations stand for.
    """
    words = split(identifier)
    if len(words) > 1 and words[0].lower() == _PARAMETER_PREFIX and identifier[1:2] == "_":
        words = words[1:]
    return title(" ".join(_written_out(words, meaning)), capitals_are_words=identifier.isupper())


def plain_name(identifier: str) -> str:
    """The words alone, in title case: what anybody gets without any knowledge. `custNo` is Cust No."""
    return title(" ".join(split(identifier)), capitals_are_words=identifier.isupper())


def title(text: str, *, capitals_are_words: bool = False) -> str:
    """Title case. Words with capitals of their own keep them; with `capitals_are_words` only short ones do."""
    return " ".join(
        _cased(word, first=position == 0, capitals_are_words=capitals_are_words)
        for position, word in enumerate(text.split())
    )


def fold(text: str) -> str:
    """Letters and digits alone, in lower case: equal for `PWS_NAME`, `pwsName` and `PWS Name`."""
    return _NO_LETTER.sub("", text.lower())


def short_name(text: str) -> str:
    """The name that a text begins with, if that is a short noun phrase, else empty.

    "Facility ZIP code, five digits." begins with a name; "Code that tells whether ..." does not.
    """
    phrase = re.split(r"[.,;:\n]", re.sub(r"\([^()]*\)", " ", text), maxsplit=1)[0].strip()
    words = phrase.split()
    if words and words[0].lower() in _ARTICLES:
        words = words[1:]
    plain = all(re.fullmatch(r"[\w'/&-]+", word) and not word.isdigit() for word in words)
    if not plain or not 0 < len(words) <= _NAME_WORDS or _NO_NOUN_PHRASE & {word.lower() for word in words}:
        return ""
    first, last = words[0].lower(), words[-1].lower()
    return "" if first in _SMALL | _INSTRUCTIONS or last in _SMALL else title(" ".join(words))


def is_related(phrase: str, token: str) -> bool:
    """Whether the letters of a token stand in a phrase in their order: `p_fn` in `Facility Name`, `qtyOrd` in `Quantity
    Ordered`; a phrase that has nothing of the token may be about anything.
    """
    letters = iter(fold(phrase))
    bare = (letter for letter in fold(token.removeprefix(f"{_PARAMETER_PREFIX}_")) if not letter.isdigit())
    return all(letter in letters for letter in bare)


def singular(word: str) -> str:
    """Without the ending of a plural."""
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def recut(token: str, cut: str) -> str:
    """A token parted where another way to write it is parted: `SDWAIDs` by `SDWA_IDS` is `SDWA_IDs`."""
    letters = iter(character for character in token if character.isalnum())
    return "_".join("".join(letter for _, letter in zip(word, letters, strict=False)) for word in split(cut))


def repeats_identifier(suggested: str, token: str) -> bool:
    """Whether a name is empty or the raw token as it is written: nobody's answer, the offline model's neither (D7)."""
    return suggested.strip() in {"", token.strip()}


def no_better_than_identifier(suggested: str, token: str) -> bool:
    """Whether a name says no more than the identifier split into words (D7).

    For answers of a language model. The offline model's names may be the words of the identifier (D12): where
    nothing more is known they are all that can be said honestly, so only `repeats_identifier` is asked of them.
    """
    bare = fold(suggested)
    return not bare or bare in {fold(token), fold(token.removeprefix(f"{_PARAMETER_PREFIX}_"))}


@lru_cache(maxsize=1)
def abbreviations() -> dict[str, str]:
    """Every abbreviation of the list with the word it stands for."""
    rows = (line.split("\t") for line in ABBREVIATIONS.read_text("utf-8").splitlines() if not line.startswith("#"))
    return {row[0]: row[1] for row in rows}


def _words_of_run(run: str) -> Iterator[str]:
    """Words of a run without separators: a new one starts at a capital, a digit, or a letter after a digit."""
    word = ""
    for position, character in enumerate(run):
        if word and _starts_word(word, character, run[position + 1 :]):
            yield word
            word = ""
        word += character
    yield word


def _starts_word(word: str, character: str, rest: str) -> bool:
    before = word[-1]
    if character.isdigit():
        return not before.isdigit() and len(word) > 1  # one letter and its number are one word: E90, v2
    if before.isdigit():
        return not _is_ordinal(word, character + rest)
    if not character.isupper():
        return False
    if not before.isupper():
        return not word[:-1].isdigit() or not _is_ordinal(word[:-1], before)
    starts_lower = rest[:1].islower()
    return starts_lower and not _is_plural_of_capitals(rest)


def _is_ordinal(number: str, following: str) -> bool:
    letters = re.match(r"[^\W\d_]*", following)
    ending = letters.group() if letters else ""
    return number.isdigit() and ending[:2] in _ORDINAL_ENDINGS and not ending[2:3].islower()


def _is_plural_of_capitals(rest: str) -> bool:
    """The `Ds` of `IDs`: a small s that ends its run of letters."""
    return rest[0] == "s" and not rest[1:2].islower()


def _written_out(words: tuple[str, ...], meaning: str) -> Iterator[str]:
    known = abbreviations()
    for position, word in enumerate(words):
        bare = word.lower()
        if meant := _meant(bare, meaning, known.get(bare, "")):
            yield meant
        elif bare == "no" and 0 < position == len(words) - 1:  # last it is a number; elsewhere it may be a negation
            yield "number"
        elif bare in known:
            yield known[bare]
        elif bare.endswith("s") and bare[:-1] in known:
            yield _plural(known[bare[:-1]])
        else:
            yield word


def _meant(abbreviation: str, meaning: str, listed: str) -> str:
    """The one word of a meaning that an abbreviation is short for, or nothing: where there is none or more than one,
    where the meaning has the abbreviation as a word, or has `listed`, well or badly spelled.
    """
    if not meaning or not _LEAST_LETTERS <= len(abbreviation) <= _MOST_LETTERS or not abbreviation.isalpha():
        return ""
    told = _words_told(meaning)
    if singular(abbreviation) in told or listed in told:
        return ""
    found = {word for word in told if _is_short_for(abbreviation, word)}
    [only] = found if len(found) == 1 else [""]
    return "" if is_related(listed, only) else only


@lru_cache(maxsize=1024)
def _words_told(meaning: str) -> frozenset[str]:
    """The words of a meaning in lower case and the singular; a verb at its beginning is none (Describes the event)."""
    said = split(meaning)
    return frozenset(singular(word.lower()) for word in (said[1:] if said and said[0].endswith("s") else said))


def _is_short_for(abbreviation: str, word: str) -> bool:
    """Cut off before a vowel (`viol`, violation) or without vowels (`lmt`, limit): `water` is no short waterbody."""
    rest = word.removeprefix(abbreviation)
    if len(rest) < len(word):
        cut = abbreviation[-1] not in _VOWELS and rest[:1] in _VOWELS
        return cut and len(rest) >= _LEAST_CUT and not rest.endswith(_INFLECTIONS)
    return word[:1] + "".join(letter for letter in word[1:] if letter not in _VOWELS) == abbreviation


def _plural(word: str) -> str:
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "x", "ch", "sh")) else "s")


def _cased(word: str, *, first: bool, capitals_are_words: bool) -> str:
    bare = word.lower()
    if bare in _INITIALISMS:
        return bare[:-1].upper() + "s" if bare in {"ids", "urls"} else bare.upper()
    if bare in _SMALL:
        return bare.capitalize() if first else bare
    if capitals_are_words and len(word) > _SHORT_CAPITALS:
        return bare.capitalize()
    return word[:1].upper() + word[1:]
