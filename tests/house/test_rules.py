"""Rules of the house that no linter knows. Each names the places that break it."""

import ast
import re

import pytest

from tests.house.source import STATIONS, Module, modules

_FORBIDDEN_NAMES = {
    "utils",
    "util",
    "helpers",
    "helper",
    "common",
    "manager",
    "managers",
    "service",
    "services",
    "misc",
}
_LONGEST_FILE = 400

#: Statements as one writes them, capitals and all; prose begins otherwise.
_SQL = re.compile(
    r"\s*(SELECT\s|INSERT INTO\s|UPDATE\s+\w+\s+SET\s|DELETE FROM\s|WITH\s+\w+\s+AS\b|MERGE INTO\s|TRUNCATE\s|COPY\s+\w"
    r"|(CREATE|ALTER|DROP)\s+(TABLE|INDEX|ROLE|DATABASE|POLICY|SCHEMA|TYPE|FUNCTION|UNIQUE)\b"
    r"|SET\s+(LOCAL\s+)?(ROLE\b|\w+\s*=)|GRANT\s+\w+|BEGIN$|COMMIT$|ROLLBACK$|LISTEN\s|NOTIFY\s)"
)


def _none(broken: list[str]) -> None:
    assert not broken, "\n".join(broken)


def test_every_station_is_there() -> None:
    assert {module.station for module in modules()} == set(STATIONS)


def test_the_environment_is_read_in_one_place() -> None:
    names = {"os.environ", "os.environb", "os.getenv", "os.putenv"}
    _none(
        [
            f"{module.path}:{line} uses {name}"
            for module in modules(*STATIONS, "bench")
            for line, name in [*module.attributes(), *module.imports()]
            if name in names and module.path != "base/settings.py"
        ]
    )


def test_everything_public_says_what_it_is() -> None:
    _none([f"{module.path}:{line} {name}" for module in modules() for line, name in _undocumented(module)])


def _undocumented(module: Module) -> list[tuple[int, str]]:
    found = [] if ast.get_docstring(module.tree) else [(1, "the module itself")]

    def look(body: list[ast.stmt], inside: str = "") -> None:
        for node in body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith(
                "_"
            ):
                if not ast.get_docstring(node) and not _said_elsewhere(node):
                    found.append((node.lineno, f"{inside}{node.name}"))
                if isinstance(node, ast.ClassDef):
                    look(node.body, f"{node.name}.")

    if not module.path.startswith("schema/migrations/versions/"):
        look(module.tree.body)
    return found


def _said_elsewhere(node: ast.stmt) -> bool:
    """An override says what its base says; an overload, what the function says; a setter, what the getter says."""
    marks = [ast.unparse(mark) for mark in getattr(node, "decorator_list", [])]
    return any(mark.endswith(("override", "overload", ".setter")) for mark in marks)


def test_a_long_file_explains_itself() -> None:
    _none(
        [
            f"{module.path} has {module.lines} lines; cut it, or say in it why it has over {_LONGEST_FILE} lines"
            for module in modules(*STATIONS, "tests", "bench")
            if module.lines > _LONGEST_FILE and f"over {_LONGEST_FILE} lines" not in module.text
        ]
    )


def test_no_module_is_named_after_nothing() -> None:
    words = [(module.path, word.removesuffix(".py")) for module in modules() for word in module.path.split("/")]
    _none([f"{path} is named {word}" for path, word in words if word in _FORBIDDEN_NAMES])


def test_sql_lives_in_schema() -> None:
    others = [module for module in modules() if module.station != "schema"]
    sql = [
        f"{module.path}:{line} {text[:60]!r}" for module in others for line, text in module.texts() if _SQL.match(text)
    ]
    core = ("text", "select", "insert", "update", "delete", "func", "literal_column")
    imported = [
        f"{module.path}:{line} imports {name}"
        for module in others
        for line, name in module.imports()
        if name.startswith("sqlalchemy.") and name.rsplit(".", 1)[1] in core
    ]
    _none(sql + imported)


def test_only_the_engine_commits() -> None:
    _none(
        [
            f"{module.path}:{call.lineno} commits"
            for module in modules()
            for call in module.calls()
            if isinstance(call.func, ast.Attribute)
            and call.func.attr in {"commit", "rollback"}
            and module.path != "schema/engine.py"
        ]
    )


def test_only_the_broker_sends() -> None:
    _none(
        [
            f"{module.path}:{call.lineno} calls {call.func.attr}()"
            for module in modules("cli", "actors", "ledger", "clients", "schema", "base")
            for call in module.calls()
            if isinstance(call.func, ast.Attribute)
            and call.func.attr in {"send_with_options", "enqueue", "basic_publish"}
        ]
    )


@pytest.mark.parametrize("station", ["ledger", "broker", "middleware", "clients", "base", "schema/ledger"])
def test_what_is_shared_names_no_pipeline(station: str) -> None:
    pipelines = ("enrichment", "cases", "knowledge", "delivery")
    packages = re.compile(rf"(actors|schema)\.({'|'.join(pipelines)})\b")
    tasks = re.compile(rf"({'|'.join(pipelines)})\.\w+$")
    _none(
        [
            f"{module.path}:{line} names {name}"
            for module in modules(station.split("/", 1)[0])
            if module.path.startswith(station + "/")
            for line, name in [
                *((line, name) for line, name in module.imports() if packages.match(name)),
                *((line, text) for line, text in module.texts() if tasks.match(text)),
            ]
        ]
    )


def test_no_test_sleeps_but_while_it_waits_for_something() -> None:
    broken = []
    for module in modules("tests"):
        loops = [node for node in ast.walk(module.tree) if isinstance(node, ast.While | ast.For)]
        waiting = {id(inner) for loop in loops for inner in ast.walk(loop)}
        broken += [
            f"{module.path}:{call.lineno} sleeps"
            for call in module.calls()
            if ast.unparse(call.func) in {"time.sleep", "sleep"} and id(call) not in waiting
        ]
    _none(broken)
