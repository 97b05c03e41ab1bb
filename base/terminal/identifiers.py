"""Ids as they are typed."""

from typing import Annotated
from uuid import UUID

import typer


def identifier(typed: str) -> UUID:
    """An id, whole, as lists show it."""
    try:
        return UUID(typed.strip())
    except ValueError:
        raise typer.BadParameter(f"`{typed}` is no id. Copy one from the list, whole") from None


RunId = Annotated[UUID, typer.Argument(metavar="ID", parser=identifier, help="The run's id, as `runs list` shows it.")]
JobId = Annotated[UUID, typer.Argument(metavar="ID", parser=identifier, help="The job's id, as `jobs list` shows it.")]
Before = Annotated[
    UUID | None, typer.Option("--before", metavar="ID", parser=identifier, help="Go on behind the one with this id.")
]
