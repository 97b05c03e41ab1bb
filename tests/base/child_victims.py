"""What `test_child.py` runs in children: functions that behave, and functions that do their worst."""

import ctypes
import os
import time
from pathlib import Path

from base.errors import BadInput


def echo(*arguments: object) -> object:
    return list(arguments)


def environment() -> dict[str, str]:
    return dict(os.environ)  # noqa: TID251


def chatter() -> str:
    print("a library says hello")  # noqa: T201
    os.write(1, b"and so does its C half\n")
    return "quiet"


def refuse() -> None:
    raise BadInput("That is no film: it is a book. Bring the film.")


def fail() -> None:
    raise ZeroDivisionError("a bug of ours")


def loop(pid_file: str) -> None:
    Path(pid_file).write_text(str(os.getpid()), encoding="ascii")
    while True:
        time.sleep(0.05)


def eat() -> int:
    return len(bytes(8 << 30))


def crash() -> None:
    ctypes.string_at(0)


def leave() -> None:
    os._exit(7)


class Trap:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, ("true",)


def trap() -> object:
    return Trap()
