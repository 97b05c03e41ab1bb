"""Which process a worker is, and whether an observer can prove that it is gone. Unknown is never gone."""

import os
import socket
from dataclasses import dataclass
from pathlib import Path

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_PID_NAMESPACE = Path("/proc/self/ns/pid")


@dataclass(frozen=True)
class Process:
    """A process, by what no other one shares: boot, PID namespace, pid, start. What the system hides is None."""

    host: str
    boot_id: str | None
    pid_namespace: int | None
    pid: int
    start_ticks: int | None


def this_process() -> Process:
    """The process that asks."""
    return Process(
        host=socket.gethostname(),
        boot_id=_boot_id(),
        pid_namespace=_pid_namespace(),
        pid=os.getpid(),
        start_ticks=_start_ticks(os.getpid()),
    )


def provably_gone(pid: int, start_ticks: int | None) -> bool:
    """Whether a process of this boot and PID namespace has ended.

    It has when there is no such pid, when it is a zombie, or when the pid started at another time: it is another's
    now. Anything that can't be read proves nothing.
    """
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass  # it is there, and not ours to signal
    stat = _stat(pid)
    if stat is None:
        return False
    if stat.state in "ZX":
        return True
    return start_ticks is not None and stat.start_ticks != start_ticks


@dataclass(frozen=True)
class _Stat:
    state: str
    start_ticks: int


def _stat(pid: int) -> _Stat | None:
    try:
        line = Path(f"/proc/{pid}/stat").read_text()
        # The name, in brackets, may hold spaces and brackets itself: fields count from the last one.
        fields = line[line.rindex(")") + 2 :].split()
        return _Stat(state=fields[0], start_ticks=int(fields[19]))
    except (OSError, ValueError, IndexError):
        return None


def _start_ticks(pid: int) -> int | None:
    stat = _stat(pid)
    return stat.start_ticks if stat else None


def _boot_id() -> str | None:
    try:
        return _BOOT_ID.read_text().strip() or None
    except OSError:
        return None


def _pid_namespace() -> int | None:
    try:
        return _PID_NAMESPACE.stat().st_ino
    except OSError:
        return None
