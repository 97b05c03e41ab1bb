"""How the engine bench counts runs in worker processes: all wait for one gate, and each notes how far it is."""

import json
import os
import threading
import time
from pathlib import Path

_NOTE_SECONDS = 0.2


class Counting:
    """Runs of this process. Times are CLOCK_MONOTONIC, which all processes of a machine share.

    Args:
        folder: where the gate `go` appears, and where each process leaves its note.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._times: list[float] = []
        self._open = threading.Event()
        threading.Thread(target=self._keep, daemon=True).start()

    @property
    def is_open(self) -> bool:
        """Whether the clock runs: until then a run waits."""
        return self._open.is_set()

    def wait(self) -> None:
        """Block until it does."""
        self._open.wait()

    def count(self) -> None:
        """One more run."""
        self._times.append(time.monotonic())

    def _keep(self) -> None:
        note = self._folder / f"{os.getpid()}.json"
        while True:
            if (self._folder / "go").exists():
                self._open.set()
            if times := self._times[:]:
                part = note.with_suffix(".part")
                part.write_text(json.dumps({"runs": len(times), "last": times[-1]}))
                part.replace(note)
            time.sleep(_NOTE_SECONDS if self._open.is_set() else 0.01)
