"""What an operator has set, as `doctor` shows it: no secret, no password inside an address."""

from collections.abc import Iterator
from datetime import timedelta
from urllib.parse import urlsplit

from pydantic import BaseModel, SecretStr

from base.settings import NESTED, PREFIX, Settings


def configured(settings: Settings) -> list[tuple[str, str]]:
    """Environment name and value of everything that is set, secrets masked, durations in seconds."""
    return list(_set_in(settings, PREFIX))


def without_password(url: str) -> str:
    """An address without its user and password, and without its query, which may hold them too."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "(an address that can't be read)"
    if not parts.scheme or "@" in parts.path:  # where a password stands in it is anybody's guess
        return "(an address that can't be read)"
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{host}{port}{parts.path}"


def _set_in(model: BaseModel, prefix: str) -> Iterator[tuple[str, str]]:
    for name in type(model).model_fields:
        if name not in model.model_fields_set:
            continue
        value = getattr(model, name)
        if isinstance(value, BaseModel):
            yield from _set_in(value, f"{prefix}{name.upper()}{NESTED}")
        else:
            yield f"{prefix}{name.upper()}", _shown(name, value)


def _shown(name: str, value: object) -> str:
    if isinstance(value, SecretStr):
        return without_password(value.get_secret_value()) if name.endswith("_url") else "(a secret, set)"
    if isinstance(value, timedelta):
        return f"{value.total_seconds():g} s"
    return without_password(str(value)) if name.endswith("_url") else str(value)
