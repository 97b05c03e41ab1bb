"""What scenarios measured: printed always, and kept in docs/reliability.md by the full figures."""

import platform
from collections.abc import Sequence
from os import cpu_count
from pathlib import Path

from base.clock import now

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reliability.md"


class Figures:
    """The rows of one test; `kept` writes each into the page, in place of the one that was there."""

    def __init__(self, *, kept: bool) -> None:
        self._kept = kept

    def row(self, scenario: str, **values: object) -> None:
        """One scenario with what was counted and measured."""
        found = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in values.items())
        print(f"{scenario}: {found}")  # noqa: T201  for who runs them with -s
        if self._kept:
            line = f"| {scenario} | {found} | {_machine()} |"
            others = [one for one in PAGE.read_text().splitlines() if not one.startswith(f"| {scenario} |")]
            PAGE.write_text("\n".join([*others, line]) + "\n")


def percentile(values: Sequence[float], percent: int) -> float:
    """The smallest value that so many percent do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


def _machine() -> str:
    return f"{cpu_count()} cores, Python {platform.python_version()}, {now():%Y-%m-%d}"
