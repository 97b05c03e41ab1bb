"""Which failure a refusal is: what is tried again, split, given up, or ends the run (E22, D3)."""

import re
from http import HTTPStatus

from base.clock import now
from clients.llm.errors import Filtered, ModelFailure, RefusingModel, Rejected, TooLong, Unavailable
from clients.llm.wire.retry_after import retry_after
from clients.llm.wire.server_error import ServerError

_NO_QUOTA = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"}
_FILTER = {"content_filter", "content_policy_violation", "responsibleaipolicyviolation"}
_TOO_LONG = {"context_length_exceeded", "exceed_context_size_error", "string_above_max_length"}
_TOO_LONG_TEXT = re.compile(
    r"context (length|size|window)|(prompt|input|request) (is )?too (long|large)|reduce the length", re.IGNORECASE
)
#: Where that text counts. 429: one prompt larger than what is allowed in a minute; 500: older llama.cpp and Ollama.
_TOO_LONG_STATUSES = {400, 422, 429, 500}

_BUSY = {408, 409, 425, 429}

#: What somebody has to do before any call can succeed.
_REMEDIES = {
    401: "{host} refuses the key; check LONGHAUL_LLM__API_KEY and LONGHAUL_LLM__API_KEY_HEADER",
    402: "{host} asks for payment: top the account up there, or set another LONGHAUL_LLM__API_KEY",
    403: "{host} forbids the use of {model}: ask there for access, or set another LONGHAUL_LLM__MODEL",
    404: "{host} has no model {model}, or no API at this address: check LONGHAUL_LLM__MODEL and "
    "LONGHAUL_LLM__BASE_URL, which ends before /chat/completions",
    405: "{host} takes no completions at this address: check LONGHAUL_LLM__BASE_URL, which ends before "
    "/chat/completions",
}
_NO_KEY = "{host} wants to be given a key; set LONGHAUL_LLM__API_KEY"
_REDIRECT = "{host} redirects, and a key is not carried elsewhere: set LONGHAUL_LLM__BASE_URL to the final address"


def is_too_long(error: ServerError) -> bool:
    """Whether the prompt, or prompt and answer together, exceed the model's context."""
    if error.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE or error.codes & _TOO_LONG:
        return True
    return error.status in _TOO_LONG_STATUSES and bool(_TOO_LONG_TEXT.search(error.text))


def failure_of(error: ServerError, *, host: str, model: str, with_key: bool) -> ModelFailure:
    """The failure to raise: one sentence with nothing of the server's text in it."""
    label = _label(error)
    if remedy := _remedy(error, with_key=with_key):
        return RefusingModel(f"{remedy.format(host=host, model=model)} ({label}).")
    if error.codes & _FILTER:
        return Filtered(
            f"The content filter of {host} stopped a prompt ({label}): another LONGHAUL_LLM__MODEL may take it."
        )
    if is_too_long(error):
        return TooLong(
            f"A prompt does not fit the context of {model} at {host} ({label}): lower "
            "LONGHAUL_SEMANTIC_ENRICHMENT__MAX_PROMPT_CHARACTERS, or set another LONGHAUL_LLM__MODEL."
        )
    if _worth_repeating(error):
        wait = retry_after(error.headers, now())
        return Unavailable(f"{host} can't answer now ({label}): {_later(error)}.", retry_after=wait)
    return Rejected(f"{host} does not accept a request to {model} ({label}): its log may say why.")


def _remedy(error: ServerError, *, with_key: bool) -> str | None:
    if error.codes & _NO_QUOTA:
        return _REMEDIES[HTTPStatus.PAYMENT_REQUIRED]
    if error.codes & _FILTER:
        return None
    if error.status == HTTPStatus.UNAUTHORIZED and not with_key:
        return _NO_KEY
    return _REDIRECT if error.status in range(300, 400) else _REMEDIES.get(error.status)


def _later(error: ServerError) -> str:
    if error.status == HTTPStatus.TOO_MANY_REQUESTS:
        return "try again later, or ask for less at once with LONGHAUL_LLM__MAX_CONCURRENT_COMPLETIONS"
    return "try again later; its log may say why"


def _worth_repeating(error: ServerError) -> bool:
    """The provider's own word (`x-should-retry`) wins over the status."""
    own_word = {"true": True, "false": False}.get(error.headers.get("x-should-retry", ""))
    return own_word if own_word is not None else error.status in _BUSY or error.status in range(500, 600)


def _label(error: ServerError) -> str:
    """Status and code. Only words of lower case letters pass as a code: a key or a prompt does not look like one."""
    word = next((code for code in sorted(error.codes) if re.fullmatch(r"[a-z_]{4,40}", code)), "")
    return f"{error.status} {word}".strip()
