"""Run one function in a child process that can be killed: how untrusted bytes are parsed.

A parser fed by a stranger may loop, eat all memory or crash its interpreter. In a child it costs that child: there is
a wall-clock limit, a memory limit, an empty environment without secrets, and nothing of the caller is forked.
"""

import contextlib
import ctypes
import gc
import importlib
import io
import math
import os
import pickle
import resource
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from base import errors
from base.errors import LonghaulError

ROOT = Path(__file__).resolve().parent.parent

#: Address space of a child, in bytes.
MEMORY = 2 << 30
#: A child whose caller died without killing it ends itself this many seconds after its limit.
ORPHAN_GRACE_SECONDS = 5

_PR_SET_PDEATHSIG = 1


class ChildFailed(LonghaulError):
    """The child gave no answer. Which input was to blame only the caller knows, so it words the refusal."""


class TimedOut(ChildFailed):
    """It took longer than its limit and was killed."""


class OutOfMemory(ChildFailed):
    """It needed more memory than its limit."""


class Crashed(ChildFailed):
    """It ended without an answer, or raised what it should not have."""


def run(function: str, *arguments: object, timeout: timedelta, memory: int = MEMORY) -> Any:
    """Call `package.module:function` with `arguments` in a child process and return what it returned.

    The result may hold plain values only (str, bytes, numbers, bool, None, list, tuple, dict, set): it comes from a
    process that read a stranger's bytes, so nothing in it is ever executed. The packages above the function's module
    are not run in the child: a parser must not start the application. May be called from any thread; blocks it.

    Raises:
        TimedOut, OutOfMemory, Crashed: no answer.
        Transient: the machine has no room for one more process.
        errors.LonghaulError: whatever kind of it the function raised, with the same message.
    """
    command = [
        sys.executable,
        *("-I", "-X", "utf8", "-c", "import sys; sys.path.insert(0, sys.argv[1]); from base.child import main; main()"),
        *(str(ROOT), function, str(os.getpid()), str(math.ceil(timeout.total_seconds())), str(memory)),
    ]
    process = _start(command)
    try:
        answer, _ = process.communicate(pickle.dumps(arguments), timeout=timeout.total_seconds())
    except subprocess.TimeoutExpired:
        raise TimedOut(f"{function} took longer than {timeout.total_seconds():g} s and was stopped.") from None
    finally:
        _bury(process)
    return _read(answer, function, process.returncode)


def _start(command: list[str]) -> "subprocess.Popen[bytes]":
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env=_environment(),
            start_new_session=True,  # Ctrl-C is the caller's business: it may mean hand over, not die
        )
    except OSError as error:
        raise errors.Transient(f"No child process could be started: {error}. Free some memory and try again.") from None


def _environment() -> dict[str, str]:
    """Nothing, but where a shared interpreter finds its own library when it stands outside the system's folders."""
    if sysconfig.get_config_var("Py_ENABLE_SHARED"):
        return {"LD_LIBRARY_PATH": str(Path(sys.base_prefix) / "lib")}
    return {}


def _bury(process: "subprocess.Popen[bytes]") -> None:
    """Leave no child and no pipe behind, whatever ended the call."""
    process.kill()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
    process.wait()


class _PlainUnpickler(pickle.Unpickler):
    """Reads plain values and refuses every name: an answer can carry data, never code."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"an answer may not name {module}.{name}")


def _read(answer: bytes, function: str, exit_code: int) -> Any:
    try:
        kind, value = _PlainUnpickler(io.BytesIO(answer)).load()
    except (pickle.UnpicklingError, EOFError, ValueError, TypeError, IndexError, KeyError, AttributeError):
        how = signal.Signals(-exit_code).name if exit_code < 0 else f"exit code {exit_code}"
        raise Crashed(f"{function} ended without an answer ({how}).") from None
    if kind == "value":
        return value
    if kind == "memory":
        raise OutOfMemory(f"{function} needed more memory than it may have.")
    name, message = value
    known = getattr(errors, str(name), None)
    if kind == "refused" and isinstance(known, type) and issubclass(known, LonghaulError):
        raise known(message)
    raise Crashed(f"{function} failed: {name}: {message}")


def main() -> None:
    """The child's whole life; `run` starts it."""
    function, parent, timeout, memory = sys.argv[2:6]
    _die_with(int(parent), int(timeout) + ORPHAN_GRACE_SECONDS)
    _limit(int(memory))
    gc.disable()  # one answer and an end: looking for cycles meanwhile doubles the time of a large parse
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # a library that prints must not write into the answer
    try:
        call = _named(function)
        answer = pickle.dumps(("value", call(*pickle.loads(sys.stdin.buffer.read()))))  # noqa: S301  from our caller
    except MemoryError:
        answer = pickle.dumps(("memory", None))
    except LonghaulError as error:
        answer = pickle.dumps(("refused", (type(error).__name__, str(error))))
    except Exception as error:  # noqa: BLE001  the caller hears of every failure, as data
        answer = pickle.dumps(("failed", (type(error).__name__, str(error)[:500])))
    out.write(answer)
    out.flush()
    os._exit(0)  # what was built for the answer needs no tidy end; freeing it takes longer than some parses


def _die_with(parent: int, seconds: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before the line above
        os._exit(1)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(seconds)


def _limit(memory: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(ValueError, OSError):  # not every system can
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


def _named(function: str) -> Callable[..., object]:
    """The function, imported without running the `__init__` of the packages above its module."""
    module, _, name = function.partition(":")
    packages = module.split(".")[:-1]
    for depth in range(1, len(packages) + 1):
        package = ModuleType(".".join(packages[:depth]))
        package.__path__ = [str(ROOT.joinpath(*packages[:depth]))]
        sys.modules.setdefault(package.__name__, package)
    return cast("Callable[..., object]", getattr(importlib.import_module(module), name))
