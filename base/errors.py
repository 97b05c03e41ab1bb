"""Every error of the house, by one question: would trying again help?

    LonghaulError
    ├── Transient             yes, later: a partner is busy, a connection broke
    ├── Permanent             no: this job ends here, with a reason code
    │   └── ContextLost       what the job was asked for is no longer so (E3)
    ├── Refused               a request that is not accepted; nothing was written
    │   ├── BadInput          the input can't be used
    │   ├── NotFound          nothing of that name in this account
    │   └── Conflict          an open job stands in the way
    └── Misconfigured         settings, schema or a server contradict each other

    Stop (BaseException)      a run has to stop; nobody's `except Exception` may swallow it
    ├── Canceled              an operator said so: not a failure
    ├── ClaimLost             the claim is another's or gone: write nothing, stop silently
    └── HandOver              give the claim back, resume elsewhere from the checkpoints

Messages are one sentence for a person: what happened: why. What to do.
"""

from datetime import timedelta


class LonghaulError(Exception):
    """Base of everything the house raises on purpose."""


class Transient(LonghaulError):
    """Trying again may help. `retry_after` is the partner's own wish, if it named one."""

    def __init__(self, message: str, *, retry_after: timedelta | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Permanent(LonghaulError):
    """Trying again can't help. `reason` is the literal code stored on the job."""

    def __init__(self, message: str, *, reason: str = "failed") -> None:
        super().__init__(message)
        self.reason = reason


class ContextLost(Permanent):
    """The context the job was requested in is no longer valid (E3)."""

    def __init__(self, message: str, *, reason: str = "context_lost") -> None:
        super().__init__(message, reason=reason)


class Refused(LonghaulError):
    """A request that is not accepted; nothing was written."""


class BadInput(Refused):
    """The input can't be used as it is."""


class NotFound(Refused):
    """There is nothing of that name in this account."""


class Conflict(Refused):
    """Something open stands in the way; `open_id` names it."""

    def __init__(self, message: str, *, open_id: str | None = None) -> None:
        super().__init__(message)
        self.open_id = open_id


class Misconfigured(LonghaulError):
    """Settings, schema or a server contradict each other; nothing is started."""


class Stop(BaseException):
    """A run has to stop. A BaseException, so that no step's `except Exception` swallows it."""


class Canceled(Stop):
    """The job was canceled: partial work is discarded, the outcome is no failure (E38)."""


class ClaimLost(Stop):
    """The claim is another's or gone: write nothing, stop silently (I2, E38)."""


class HandOver(Stop):
    """The claim is to be given back; the job resumes elsewhere from its checkpoints (E38)."""
