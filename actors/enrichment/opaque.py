"""Which names tell a reader nothing: the ones worth showing first."""

from clients.llm import words

#: Short words that need no explanation.
_KNOWN_WORDS = """
a add age all and any api app are as at bar box by can car cc city code cost data date day do due end fax file for
get go has he id if in ip is it item job key kind lat list log lon low map max me min month my name new no not note
now of off ok old on or order out own page pay per pin put row run sex size sms so state sum tag tax tel text time
to top total type up uri url use user uuid vat was web week year yes zip
"""
_KNOWN = frozenset(_KNOWN_WORDS.split())
_SHORT = 3
_VOWELS = frozenset("aeiouyäöüáéíóúàèìòùåæø")


def is_opaque(token: str) -> bool:
    """Whether a token has a word that is no word: a number in it, no vowel, or short and not a known one."""
    return any(_is_cryptic(word.lower()) for word in words.split(token))


def _is_cryptic(word: str) -> bool:
    if word in _KNOWN or word.isdigit():
        return False
    return len(word) <= _SHORT or not _VOWELS & set(word) or any(character.isdigit() for character in word)
