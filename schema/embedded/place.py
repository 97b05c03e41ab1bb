"""Where a home's server keeps its files, and as which user it runs.

For an ordinary user: in the home itself. For root: below a system folder, as a system user, because PostgreSQL refuses
to run as root; the home only says where. Folders we did not make keep their mode and owner.
"""

import hashlib
import os
import pwd
import secrets
import shutil
import stat
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from schema.embedded import binaries
from schema.embedded.leftovers import SIGN, note

SYSTEM_FOLDER = Path("/var/lib/longhaul")
SYSTEM_USER = "longhaul"

#: A socket's address holds 107 characters; `/.s.PGSQL.5432` takes 14 of them.
_LONGEST_SOCKET_FOLDER = 107 - len("/.s.PGSQL.5432")


@dataclass(frozen=True)
class User:
    """Who the server runs as when it is not the one who starts it."""

    uid: int
    gid: int


@dataclass(frozen=True)
class Place:
    """The files of one server. `user` is None when it runs as whoever starts it."""

    locks: Path
    files: Path
    programs: Path
    user: User | None

    @property
    def starting(self) -> Path:
        """Lock of whoever looks at, starts or migrates the server."""
        return self.locks / "starting"

    @property
    def users(self) -> Path:
        """Lock shared by the processes that use the server."""
        return self.locks / "users"

    @property
    def serving(self) -> Path:
        """Lock held by the processes of the server."""
        return self.locks / "serving"

    @property
    def data(self) -> Path:
        """The cluster."""
        return self.files / "data"

    @property
    def log(self) -> Path:
        """What the server said since its last start."""
        return self.locks / "log"

    def socket_folder(self) -> Path:
        """Where a fresh server puts its socket: with its files, or in a short place if that is too long an address."""
        folder = self.files / "socket"
        if len(os.fsencode(folder)) > _LONGEST_SOCKET_FOLDER:
            name = hashlib.sha256(os.fsencode(self.files)).hexdigest()[:12]
            folder = Path(_short_temporary_folder(), f"longhaul-{name}")
        self.own(folder)
        return folder

    def own(self, folder: Path) -> None:
        """Make a folder that only the server's user may enter: who reaches the socket is trusted."""
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        ours = {os.geteuid(), self.user.uid if self.user else os.geteuid()}
        if not stat.S_ISDIR(found.st_mode) or found.st_uid not in ours:
            raise PermissionError(f"{folder} is another user's")
        folder.chmod(0o700)
        if self.user:
            os.chown(folder, self.user.uid, self.user.gid)


def prepare(home: Path, system_folder: Path) -> Place:
    """The place of this home's server, its folders made where they are missing.

    Raises:
        OSError: a folder can't be made or entered, or no system user can be had.
    """
    home = home.absolute()
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    locks = home / "postgres"
    locks.mkdir(mode=0o700, exist_ok=True)
    if os.geteuid() != 0:
        return Place(locks, locks, binaries.in_wheel(), None)
    return _elsewhere(locks, system_folder)


def _elsewhere(locks: Path, system_folder: Path) -> Place:
    """Root's place. The home names it by a word of its own, so that a new clone at an old path starts afresh."""
    sign = locks / SIGN
    if (locks / "data").is_dir():  # begun by an ordinary user: it stays theirs
        owner = (locks / "data").stat()
        programs = binaries.readable_copy(_made_for_everyone(system_folder))
        return Place(locks, locks, programs, User(owner.st_uid, owner.st_gid))
    user = _system_user()
    system_folder = _made_for_everyone(system_folder)
    if not sign.is_file():
        partial = sign.with_suffix(f".{os.getpid()}")
        partial.write_text(secrets.token_hex(6))
        try:
            os.link(partial, sign)  # whoever of several is first names it
        except FileExistsError:
            pass
        finally:
            partial.unlink()
    files = system_folder / sign.read_text().strip()
    place = Place(locks, files, binaries.readable_copy(system_folder), user)
    place.own(files)
    note(files, locks.parent)
    return place


def _made_for_everyone(folder: Path) -> Path:
    """The system folder: anyone may enter, only root may write."""
    if not folder.exists():
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o755)
    status = folder.stat()
    if status.st_uid != 0 or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(f"{folder} is not root's alone to write to")
    return folder


def _system_user() -> User:
    """Our own system user, made if need be; PostgreSQL's where none can be made."""
    for attempt in (_known, _made, _postgres):
        if user := attempt():
            return user
    raise PermissionError("root can't run PostgreSQL, and no system user could be made to run it")


def _known(name: str = SYSTEM_USER) -> User | None:
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        return None
    return User(entry.pw_uid, entry.pw_gid) if entry.pw_uid else None


def _made() -> User | None:
    program = shutil.which("useradd", path="/usr/sbin:/sbin:/usr/bin:/bin")
    if program is None:
        return None
    subprocess.run(
        [program, "--system", "--user-group", "--no-create-home", "--shell", "/usr/sbin/nologin", SYSTEM_USER],
        check=False,  # another start may have made it meanwhile
        capture_output=True,
        stdin=subprocess.DEVNULL,
    )
    return _known()


def _postgres() -> User | None:
    return _known("postgres")


def _short_temporary_folder() -> str:
    """The usual temporary folder, unless that one is long as well (as macOS's is)."""
    usual = tempfile.gettempdir()
    return usual if len(usual) < _LONGEST_SOCKET_FOLDER // 2 else "/tmp"  # noqa: S108  the folder inside is ours alone
