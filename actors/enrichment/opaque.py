"""Which names tell a reader nothing: the ones worth showing first. A guess, and nothing but an order hangs on it."""

import re

from clients.llm import words

#: Short words that need no explanation.
_KNOWN_WORDS = """
a add age all and any api app are as at by cc do due end fax file for get go has he id if in ip is it key list low me my
new no not note now of off ok old on or order out own per put so sms tag tax tel to up uri url use user uuid vat was yes
"""
_KNOWN = frozenset(_KNOWN_WORDS.split())

#: Three letters that could be a word: pet, max, row.
_SYLLABLE = re.compile(r"[^aeiouy][aeiouy][^aeiou]")
_VOWEL = re.compile("[aeiouyäöüáéíóúàèìòùåæø]")
_SHORT = 3


def is_opaque(token: str) -> bool:
    """Whether a token has a part that is no word: numbered, without a vowel, short and odd, or an initialism."""
    parts = words.split(token)
    return any(_is_cryptic(part.lower()) or (part.isupper() and not token.isupper()) for part in parts if _asks(part))


def _asks(part: str) -> bool:
    return part.lower() not in _KNOWN and not part.isdigit()


def _is_cryptic(part: str) -> bool:
    if any(character.isdigit() for character in part) or not _VOWEL.search(part):
        return True
    return len(part) <= _SHORT and not _SYLLABLE.fullmatch(part)
