"""compose.yaml and the Dockerfile, read as far as their tests need."""

import re
import shlex
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent.parent


@cache
def compose() -> dict[str, Any]:
    """compose.yaml, with anchors and merges resolved and variables as they stand there."""
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
    return loaded


def services() -> dict[str, dict[str, Any]]:
    """Every service by name."""
    found: dict[str, dict[str, Any]] = compose()["services"]
    return found


def ours() -> dict[str, dict[str, Any]]:
    """The services that run the project's own image."""
    return {name: service for name, service in services().items() if "build" in service}


def seconds(duration: str) -> float:
    """A duration as compose writes it: `1m30s`."""
    parts = re.findall(r"(\d+)(h|m|s)", duration)
    assert "".join(number + unit for number, unit in parts) == duration, duration
    return sum(int(number) * {"h": 3600, "m": 60, "s": 1}[unit] for number, unit in parts)


@dataclass(frozen=True)
class Instruction:
    """One instruction of a Dockerfile."""

    name: str
    value: str

    @property
    def words(self) -> list[str]:
        """Its value as words, flags left out."""
        return [word for word in shlex.split(self.value) if not word.startswith("--")]


def dockerfile() -> list[Instruction]:
    """The instructions, continued lines joined, comments dropped."""
    lines = [line for line in (ROOT / "Dockerfile").read_text().splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [Instruction(*line.split(" ", 1)) for line in joined.splitlines() if line.strip()]
