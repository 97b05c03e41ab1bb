"""Help that starts with an example: what to type comes before what can be typed."""

from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup


class _Command(TyperCommand):
    example: ClassVar[str]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write(f"Example:\n  {self.example}\n\n")
        super().format_help(ctx, formatter)


class _Group(TyperGroup):
    example: ClassVar[str]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """A noun alone is a question, not a mistake: its help is the answer."""
        if not args and not ctx.resilient_parsing:
            typer.echo(ctx.get_help())
            raise typer.Exit
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write(f"Example:\n  {self.example}\n\n")
        super().format_help(ctx, formatter)


def command(example: str) -> type[TyperCommand]:
    """The class of a command whose help starts with this example: `@app.command(cls=command("..."))`."""
    return type("Command", (_Command,), {"example": example})


def group(example: str) -> type[TyperGroup]:
    """The class of a noun whose help starts with this example: `typer.Typer(cls=group("..."))`."""
    return type("Group", (_Group,), {"example": example})
