"""`./longhaul`: which Python it takes, what it installs, and how it repairs what went wrong."""

import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.launcher.clones import ROOT, Clone, programs

#: A Python that can make environments, whatever it is called here.
_PYTHON = f'exec "{Path(sys.executable).resolve()}" "$@"'
_ONE_LINE = "Installing Longhaul's packages into"


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    return Clone(tmp_path / "a clone")


@pytest.fixture(scope="module")
def installed_once(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    made = Clone(tmp_path_factory.mktemp("installed") / "clone")
    code, _, err = made.run()
    assert code == 0, err
    return made


@pytest.fixture
def installed(installed_once: Clone) -> Clone:
    """An installed clone; tests that damage it leave it repaired."""
    return installed_once


def test_it_installs_once_in_one_line_and_hands_the_words_over_as_they_are(clone: Clone) -> None:
    words = ("enrich", "a file.json", "--instructions", "two\nlines", "")
    code, answer, err = clone.run(*words)
    assert (code, answer["arguments"]) == (0, list(words)), err
    assert err.startswith(_ONE_LINE)
    assert err.count("\n") == 1
    assert answer["python"] == str(clone.venv / "bin" / "python")
    code, answer, err = clone.run(*words)
    assert (code, answer["arguments"], err) == (0, list(words), "")


def test_it_runs_from_any_folder_and_imports_nothing_from_there(installed: Clone, tmp_path: Path) -> None:
    (tmp_path / "cli").mkdir()
    (tmp_path / "cli" / "__main__.py").write_text("raise SystemExit('the wrong one')")
    code, answer, err = installed.run("x", cwd=tmp_path)
    assert (code, answer["folder"]) == (0, str(tmp_path)), err
    assert answer["path"][0] == str(installed.folder)
    assert str(tmp_path) not in answer["path"]


def test_it_may_be_a_link_on_somebodys_path(installed: Clone, tmp_path: Path) -> None:
    (tmp_path / "second").symlink_to(installed.folder / "longhaul")
    (tmp_path / "first").symlink_to("second")
    done = subprocess.run([tmp_path / "first", "x"], check=True, capture_output=True, text=True, cwd="/")
    assert str(installed.folder) in done.stdout


def test_an_installed_one_adds_little_to_the_start(installed: Clone) -> None:
    def spent() -> float:
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        return children.ru_utime + children.ru_stime

    def seconds(*command: str) -> float:
        """Of the processors' time: on a busy machine the wall's tells of the others."""
        took = []
        for _ in range(5):
            began = spent()
            subprocess.run(command, check=True, capture_output=True, cwd=installed.folder, env={"PATH": os.defpath})
            took.append(spent() - began)
        return min(took)

    python = str(installed.venv / "bin" / "python")
    assert seconds(str(installed.folder / "longhaul")) - seconds(python, "-m", "cli") < 0.05


def test_an_install_that_was_cut_off_is_made_again(installed: Clone) -> None:
    installed.marker.unlink()
    code, _, err = installed.run()
    assert code == 0
    assert err.startswith(_ONE_LINE)
    assert installed.marker.is_file()


def test_an_outdated_install_is_made_again(installed: Clone) -> None:
    installed.lock(f"{installed.lock_text}# changed\n")
    code, _, err = installed.run()
    assert (code, err[: len(_ONE_LINE)]) == (0, _ONE_LINE)


@pytest.mark.parametrize("damage", ["python is gone", "a package is gone", "python is of another version"])
def test_a_damaged_install_is_made_again(installed: Clone, damage: str) -> None:
    if damage == "python is gone":
        (installed.venv / "bin" / "python").unlink()
    elif damage == "a package is gone":
        installed.package.unlink()
    else:
        lines = installed.marker.read_text().splitlines()
        installed.marker.write_text("\n".join([lines[0], "3.10", *lines[2:]]) + "\n")
    code, _, err = installed.run()
    assert (code, err[: len(_ONE_LINE)]) == (0, _ONE_LINE)
    assert installed.run()[2] == ""


def test_of_two_parallel_starts_one_installs_and_the_other_waits(clone: Clone) -> None:
    both = [clone.start(str(number)) for number in range(2)]
    ended = [process.communicate(timeout=120) for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert sorted(err.count(_ONE_LINE) for _, err in ended) == [0, 1]


def test_an_installer_that_was_killed_keeps_nobody_waiting(clone: Clone) -> None:
    first = clone.start()
    assert first.stderr
    assert first.stderr.readline().startswith(_ONE_LINE)
    first.send_signal(signal.SIGKILL)
    first.communicate(timeout=120)
    code, _, err = clone.run()
    assert code == 0, err
    assert clone.marker.is_file()


def test_what_pip_can_not_install_is_said_and_nothing_is_left_behind(clone: Clone) -> None:
    clone.lock(f"tiny==1.0 --hash=sha256:{'0' * 64}\n")
    code, answer, err = clone.run()
    assert (code, answer) == (1, None)
    assert "could not be installed" in err
    assert not clone.venv.exists()


def test_without_a_python_it_says_how_to_get_one(clone: Clone, tmp_path: Path) -> None:
    code, answer, err = clone.run(path=programs(tmp_path / "bin", {"apt-get": "exit 1"}))
    assert (code, answer) == (1, None)
    assert err == "Longhaul needs Python 3.11 or newer. Install it: apt install python3 python3-venv\n"
    assert not clone.venv.exists()


def test_a_python_that_is_too_old_or_only_a_shim_is_passed_over(clone: Clone, tmp_path: Path) -> None:
    shim, old = "echo 'pyenv: python3.14: command not found' >&2; exit 127", "exit 1"
    path = programs(tmp_path / "bin", {"python3.14": shim, "python3.13": old, "python3": _PYTHON})
    code, answer, err = clone.run("x", path=path)
    assert (code, answer["arguments"]) == (0, ["x"]), err


def test_the_newest_python_is_taken_first(clone: Clone, tmp_path: Path) -> None:
    newest, older = (f'echo {word} >>"{tmp_path}/asked"; {_PYTHON}' for word in ("newest", "older"))
    assert clone.run(path=programs(tmp_path / "bin", {"python3.12": newest, "python3.11": older}))[0] == 0
    assert set((tmp_path / "asked").read_text().split()) == {"newest"}


def test_without_ensurepip_it_says_what_to_install_and_leaves_nothing_half_made(clone: Clone, tmp_path: Path) -> None:
    bare = f'case "$*" in *ensurepip*) exit 1;; esac; {_PYTHON}'
    code, answer, err = clone.run(path=programs(tmp_path / "bin", {"python3": bare}))
    assert (code, answer) == (1, None)
    assert "apt install python3-venv" in err
    assert err.count("\n") == 1
    assert not clone.venv.exists()


def test_another_python_with_ensurepip_is_taken(clone: Clone, tmp_path: Path) -> None:
    bare = f'case "$*" in *ensurepip*) exit 1;; esac; {_PYTHON}'
    assert clone.run(path=programs(tmp_path / "bin", {"python3.13": bare, "python3": _PYTHON}))[0] == 0


def test_a_clone_that_only_its_owner_may_enter_keeps_its_mode(clone: Clone) -> None:
    clone.folder.chmod(0o700)
    (clone.folder / "cli").chmod(0o700)
    assert clone.run()[0] == 0
    assert stat.S_IMODE(clone.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((clone.folder / "cli").stat().st_mode) == 0o700


@pytest.mark.parametrize("script", ["longhaul", ".ci/lock", ".ci/run"])
def test_the_scripts_are_plain_sh(script: str) -> None:
    shellcheck = shutil.which("shellcheck") or shutil.which("shellcheck", path=str(Path(sys.executable).parent))
    if shellcheck is None:
        pytest.skip("shellcheck is not installed")
    done = subprocess.run([shellcheck, "--shell=sh", ROOT / script], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
