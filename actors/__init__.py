"""Names the pipelines and their steps, and builds what works for them: the standard commands' broker, or a worker here.

Importing it is light and fails for no setting: every command and every pipeline's module does. Only where the program
is `dramatiq` or `periodiq` does the import declare the steps on a broker, as `dramatiq actors` and `periodiq actors`
expect.
"""

import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from base.settings import Settings
    from broker.embedded import Embedded
    from schema.engine import Database

#: Each pipeline with its steps: `enrichment` has `actors/enrichment/run.py`. A fourth pipeline is one more line.
PIPELINES: Mapping[str, tuple[str, ...]] = {
    "enrichment": ("run",),
    "upkeep": (),
}


def lanes() -> tuple[str, ...]:
    """The lanes this version works in: of the pipelines' steps, whatever else this process declares."""
    from broker import tick  # noqa: PLC0415  importing this package is light
    from broker.step import steps  # noqa: PLC0415

    _declare_steps()
    ours = (step for step in steps().values() if step.body.__module__.startswith(f"{__name__}."))
    return (*sorted({step.policy.lane for step in ours}), tick.LANE)


@contextmanager
def running(
    settings: "Settings", database: "Database", lanes: Collection[str], *, tick: bool = False
) -> "Iterator[Embedded]":
    """Work for these lanes in this process while the block runs; with `tick`, start what is due each minute too.

    Leaving the block hands over what still runs, within the drain's grace.
    """
    from middleware import embedded  # noqa: PLC0415

    _declare_steps()
    with embedded.running(settings, database, lanes, sweeps=_sweeps(settings), tick=tick) as worker:
        yield worker


@contextmanager
def announcing(settings: "Settings", database: "Database") -> Iterator[None]:
    """Let this process, which works for no lane itself, tell the workers what it inserts or cancels in the block."""
    from broker import announcing  # noqa: PLC0415

    _declare_steps()
    with announcing.from_outside(settings, database):
        yield


def _declare_steps() -> None:
    for pipeline, steps in PIPELINES.items():
        for step in steps:
            import_module(f"{__name__}.{pipeline}.{step}")


def _sweeps(settings: "Settings") -> Callable[[], None]:
    # By name, like the steps: a pipeline that imports this package does not import the other pipelines with it.
    sweeps: Callable[[], None] = import_module(f"{__name__}.upkeep.tick").Sweeps(settings)
    return sweeps


def _build_for_standard_command() -> None:
    from base.errors import LonghaulError  # noqa: PLC0415
    from base.settings import load  # noqa: PLC0415
    from middleware import standard  # noqa: PLC0415

    _declare_steps()
    try:
        settings = load()
        standard.use_broker(settings, _sweeps(settings))
    except LonghaulError as error:
        # One sentence on stderr and exit code 1, where an exception would be a traceback.
        raise SystemExit(str(error)) from None


def _is_standard_command() -> bool:
    program = Path(sys.argv[0])
    # `python -m dramatiq` runs the package's __main__.py.
    name = program.parent.name if program.name == "__main__.py" else program.stem
    return name in ("dramatiq", "periodiq")


if _is_standard_command():
    _build_for_standard_command()
