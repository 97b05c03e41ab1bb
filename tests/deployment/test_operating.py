"""docs/operating.md speaks of what there is: its settings, commands, services and figures exist."""

import ast
import re
from datetime import timedelta

import pytest
import typer

from base.settings import Settings, names
from cli.app import build
from schema.probe import LEAST_VERSION
from tests.deployment.files import ROOT, services

_TEXT = (ROOT / "docs" / "operating.md").read_text()
_FENCE = re.compile(r"```\n(.*?)```", flags=re.DOTALL)
#: Lines of code blocks, and what stands between backquotes.
_CODE = [
    *(line for block in _FENCE.findall(_TEXT) for line in block.splitlines()),
    *re.findall(r"`([^`\n]+)`", _FENCE.sub("", _TEXT)),
]


def test_its_settings_exist() -> None:
    named = set(re.findall(r"\bLONGHAUL_[A-Z_]+[A-Z]", _TEXT))
    assert named
    assert named <= set(names())


def test_its_commands_exist() -> None:
    known = typer.main.get_command(build())
    commands = known.list_commands(typer.Context(known))  # type: ignore[attr-defined]
    typed = [word for line in _CODE for word in re.findall(r"(?:\./longhaul|^docker compose run --rm \S+) (\w+)", line)]
    assert len(typed) > 5
    assert [word for word in typed if word not in commands] == []


def test_its_services_exist() -> None:
    verbs = r"^docker compose (?:run --rm|logs|exec -T|stop|up --detach --scale) ([\w -]+)"
    named = [words.split() for line in _CODE for words in re.findall(verbs, line)]
    firsts = {words[0] for words in named}
    assert {"scheduler", "migrate", "postgres", "worker-enrichment"} <= firsts <= set(services())


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("LONGHAUL_BROKER__WAKE_TARGET", "5,000"),
        ("LONGHAUL_DATABASE__POOL_SIZE", "24"),
        ("LONGHAUL_WORKER__DRAIN_GRACE", "60 s"),
        ("LONGHAUL_WORKER__CANCEL_GRACE", "30 s"),
        ("LONGHAUL_LLM__MAX_CONCURRENT_COMPLETIONS", "4"),
    ],
)
def test_its_figures_are_the_defaults(name: str, written: str) -> None:
    assert re.search(rf"`{name}`\s*\({re.escape(written)}\)", _TEXT)
    default = names()[name].default
    number = default.total_seconds() if isinstance(default, timedelta) else default
    assert int(number) == int(re.sub(r"\D", "", written))


def test_its_log_lines_carry_what_it_says() -> None:
    (call,) = (
        node
        for node in ast.walk(ast.parse((ROOT / "middleware" / "context.py").read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "bind_contextvars"
    )
    *names, last = [str(keyword.arg) for keyword in call.keywords]
    assert f"carry its {', '.join(names)} and {last}:" in " ".join(_TEXT.split())


def test_its_versions_are_the_oldest_that_doctor_accepts() -> None:
    assert f"PostgreSQL {LEAST_VERSION // 10_000} or newer" in _TEXT


def test_the_margin_holds_the_slowest_pass_as_it_says() -> None:
    settings = Settings()
    assert settings.slowest_pass == timedelta(minutes=19)
    assert settings.broker.ack_margin == timedelta(minutes=20)
    assert "19 min of 20" in _TEXT
