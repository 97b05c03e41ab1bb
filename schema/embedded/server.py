"""The life of one server: laid out once, started when nobody's runs, stopped when nobody uses it."""

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psycopg

from base.clock import monotonic
from schema.embedded import keeper
from schema.embedded.locks import Lock
from schema.embedded.place import Place

#: Seconds a start may take: recovery after a crash replays what was written since the last checkpoint.
START_SECONDS = 120
STOP_SECONDS = 60
_LOOK_SECONDS = 0.02

_SETTINGS = {
    "listen_addresses": "",  # no TCP
    "unix_socket_permissions": "0700",
    "max_connections": "200",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "jit": "off",
    "autovacuum_naptime": "5s",  # a claim walks the index entries of claimed jobs until a vacuum has been there
}
#: For tests: nothing survives a crash of the machine, everything else behaves as ever.
_CARELESS = {"fsync": "off", "full_page_writes": "off"}


def ensure(place: Place, *, superuser: str, durable: bool) -> Path:
    """The socket folder of a server that answers, started if none runs. Hold `starting` and a share of `users`.

    Raises:
        OSError: it can't be laid out or started; the message is the server's own.
    """
    deadline = monotonic() + START_SECONDS
    while True:
        serving = Lock(place.serving)
        if serving.try_exclusive():
            try:
                return _start(place, serving, superuser, durable=durable)
            finally:
                serving.release()
        serving.release()
        # Someone's server is alive: up, coming up, going down, or killed with its last children still leaving.
        folder = _advertised(place.data)
        if folder and answers(folder, superuser):
            return folder
        if monotonic() > deadline:
            raise TimeoutError(f"a server that does not answer holds {place.serving}")
        time.sleep(_LOOK_SECONDS)


def stop(place: Place) -> None:
    """Stop the server and wait until its last process has ended. Hold `users` alone."""
    pid = _postmaster(place.data)
    if pid is not None:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGINT)  # fast shutdown: nobody is left to wait for
        deadline = monotonic() + STOP_SECONDS
        while not _is_down(place) and monotonic() < deadline:
            time.sleep(_LOOK_SECONDS)


def answers(socket_folder: Path, superuser: str) -> bool:
    """Whether the server at this socket takes connections."""
    try:
        psycopg.connect(host=str(socket_folder), user=superuser, dbname="postgres", connect_timeout=5).close()
    except psycopg.OperationalError:
        return False
    return True


def _start(place: Place, serving: Lock, superuser: str, *, durable: bool) -> Path:
    _lay_out(place, superuser, durable=durable)
    # Nobody holds `serving`, so no process of an earlier server is alive: what it left behind is stale, even where
    # its pid now is another program's, which would make PostgreSQL refuse to start.
    (place.data / "postmaster.pid").unlink(missing_ok=True)
    folder = place.socket_folder()
    settings = _SETTINGS | ({} if durable else _CARELESS) | {"unix_socket_directories": str(folder)}
    place.log.write_bytes(b"")
    command = [str(place.programs / "postgres"), "-D", str(place.data)]
    command += [f"--{name}={value}" for name, value in settings.items()]
    user = (place.user.uid, place.user.gid) if place.user else (-1, -1)
    subprocess.run(
        [
            *(sys.executable, "-I", "-S", keeper.__file__),
            *(str(place.users), str(serving.fd), str(user[0]), str(user[1]), str(place.log), "--"),
            *command,
        ],
        check=True,
        pass_fds=(serving.fd,),
        stdin=subprocess.DEVNULL,
    )
    serving.release()  # the server has it now, or nobody does any more
    deadline = monotonic() + START_SECONDS
    while not answers(folder, superuser):
        if _is_down(place) or monotonic() > deadline:
            raise OSError(_last_words(place.log))
        time.sleep(_LOOK_SECONDS)
    return folder


def _lay_out(place: Place, superuser: str, *, durable: bool) -> None:
    """Make the cluster. It is laid out beside its place and renamed, so that a killed start leaves no half of one."""
    if (place.data / "PG_VERSION").is_file():
        return
    partial = place.files / "data.partial"
    shutil.rmtree(partial, ignore_errors=True)
    place.own(partial)
    done = subprocess.run(
        [
            *(str(place.programs / "initdb"), "--pgdata", str(partial), "--username", superuser),
            *("--auth-local=trust", "--auth-host=reject", "--encoding=UTF8", "--no-locale", "--no-instructions"),
            *("--locale-provider=builtin", "--builtin-locale=C.UTF-8"),
            *(() if durable else ("--no-sync",)),
        ],
        check=False,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env={"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"},
        cwd="/",
        user=place.user.uid if place.user else None,
        group=place.user.gid if place.user else None,
        extra_groups=[] if place.user else None,
    )
    if done.returncode:
        shutil.rmtree(partial, ignore_errors=True)
        raise OSError(_complaint(done.stderr))
    shutil.rmtree(place.data, ignore_errors=True)
    partial.rename(place.data)


def _advertised(data: Path) -> Path | None:
    """The socket folder that a running server wrote down."""
    try:
        lines = (data / "postmaster.pid").read_text().splitlines()
    except FileNotFoundError:
        return None
    return Path(lines[4]) if len(lines) > 4 and lines[4] else None  # noqa: PLR2004  the fifth line, by its format


def _postmaster(data: Path) -> int | None:
    """The pid of this cluster's server, if it is one of this machine's (a shared home may be served from elsewhere)."""
    try:
        pid = int((data / "postmaster.pid").read_text().split("\n", 1)[0])
    except (FileNotFoundError, ValueError):
        return None
    command_line = Path("/proc", str(pid), "cmdline")
    if Path("/proc/self").exists():
        try:
            return pid if os.fsencode(data) in command_line.read_bytes().split(b"\0") else None
        except OSError:
            return None
    return pid


def _is_down(place: Place) -> bool:
    look = Lock(place.serving)
    try:
        return look.try_exclusive()
    finally:
        look.release()


def _last_words(log: Path) -> str:
    return _complaint(log.read_text(errors="replace"))


def _complaint(text: str) -> str:
    """The line of a server's output that says what went wrong."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for mark in ("FATAL:", "error:", "ERROR:", "PANIC:"):
        for line in lines:
            if mark in line:
                return line[line.index(mark) + len(mark) :].strip()
    return lines[-1] if lines else "the server ended without a word"
