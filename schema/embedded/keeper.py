"""Keeps one server: starts it, and stops it when its last user is gone, however that one went.

A script of its own with nothing but the standard library, so that it stays small while it waits, for days if need be.
Usage: keeper.py USERS_LOCK SERVING_FD UID GID LOG -- POSTGRES ARGS...   (UID and GID -1: as who we are)
"""

import fcntl
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path


def main(arguments: list[str]) -> int:
    """Start the server apart from the caller's terminal and process group, and return while it is starting."""
    own, command = arguments[: arguments.index("--")], arguments[arguments.index("--") + 1 :]
    users, serving, uid, gid, log = own[0], int(own[1]), int(own[2]), int(own[3]), own[4]
    if os.fork():
        return 0  # whoever called may wait for us and never for the server
    os.setsid()
    os.chdir("/")
    with Path(log).open("ab", buffering=0) as out, Path(os.devnull).open("rb") as nothing:
        for standard, stream in ((0, nothing), (1, out), (2, out)):
            os.dup2(stream.fileno(), standard)
    server = subprocess.Popen(
        command,
        pass_fds=(serving,),
        env={"PATH": os.defpath, "LC_ALL": "C"},
        user=uid if uid >= 0 else None,
        group=gid if gid >= 0 else None,
        extra_groups=[] if uid >= 0 else None,
    )
    os.close(serving)  # now only the server and its children hold it
    threading.Thread(target=_leave_with, args=(server,), daemon=True).start()
    with Path(users).open("r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # granted once nobody uses the server
        server.send_signal(signal.SIGINT)
        server.wait()
    return 0


def _leave_with(server: "subprocess.Popen[bytes]") -> None:
    server.wait()
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
