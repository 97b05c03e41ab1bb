"""What may be stored of an error: no secret, no address, no more than a row holds."""

import re

from schema.ledger.tables import ERROR_LENGTH

_HIDDEN = "***"

#: Text looked at. Beyond it nothing can reach the part that is kept.
_LOOKED_AT = 20 * ERROR_LENGTH

_SECRETS: tuple[tuple[re.Pattern[str], str], ...] = (
    # user:password@ in an address
    (re.compile(r"([a-z][a-z0-9+.-]{1,20}://)[^\s/?#]{1,400}@", re.IGNORECASE), rf"\1{_HIDDEN}@"),
    # Authorization: Bearer ..., Basic ...
    (re.compile(r"\b(bearer|basic)\s+[\w.~+/=-]{6,}", re.IGNORECASE), rf"\1 {_HIDDEN}"),
    # api_key=..., "password": "...", token: ...
    (
        re.compile(
            r"((?:api|access|secret|private|subscription|account)?[-_ ]?"
            r"(?:key|token|secret|password|passwd|pwd|signature|sig|authorization)"
            r"[\"']?\s{0,3}[:=]\s{0,3}[\"']?)(?!bearer\b|basic\b)[^\s\"'&,;)}\]]+",
            re.IGNORECASE,
        ),
        rf"\1{_HIDDEN}",
    ),
    # keys that are known by their looks
    (re.compile(r"\b(?:sk|pk|rk|gsk|xai|hf|gh[pousr]|glpat|xox[abpsr]|AIza|AKIA|ya29)[-_.]?[\w-]{12,}"), _HIDDEN),
    (re.compile(r"\beyJ[\w-]{6,}\.[\w-]{6,}\.[\w-]*"), _HIDDEN),
    # anything long and random
    (re.compile(r"\b[0-9a-f]{32,}\b", re.IGNORECASE), _HIDDEN),
    (re.compile(r"\b(?=[\w+=-]{0,400}[0-9])(?=[\w+=-]{0,400}[a-z])(?=[\w+=-]{0,400}[A-Z])[\w+=-]{40,}"), _HIDDEN),
    (re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+"), _HIDDEN),
)

#: PostgreSQL's text holds no NUL, a terminal should hold no escape; line breaks and tabs may stay.
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")


def storable(error: BaseException | str) -> str:
    """The error as a row may keep it: secrets and addresses hidden, at most 500 characters, never empty."""
    text = error if isinstance(error, str) else str(error)
    if not text.strip() and isinstance(error, BaseException):
        text = type(error).__name__
    text = _UNPRINTABLE.sub("", text[:_LOOKED_AT])
    for pattern, instead in _SECRETS:
        text = pattern.sub(instead, text)
    text = text.strip() or "It failed without saying why."
    return text if len(text) <= ERROR_LENGTH else f"{text[: ERROR_LENGTH - 1]}…"
