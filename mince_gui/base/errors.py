"""Errors that a user can act on; anything else that escapes is a defect of ours."""

from __future__ import annotations


class MinceError(Exception):
    """Something went wrong that we can explain.

    Attributes:
        message: what happened, naming the file and line where there is one.
        remedy: what to do about it; may be empty.
        exit_code: the exit code of the command line (1 failed, 2 usage, 3 input refused,
            4 finished with items missing, 5 outside the drift limit asked for).
    """

    exit_code = 1

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message}\n{self.remedy}" if self.remedy else self.message


class UsageError(MinceError):
    """The request itself cannot be met: a wrong name, a number out of range."""

    exit_code = 2


class InputError(MinceError):
    """A file from outside is not what it should be; nothing of it was stored."""

    exit_code = 3


class ItemsMissingError(MinceError):
    """The work ended, but some items have no result."""

    exit_code = 4


class LimitError(MinceError):
    """A limit that was asked for is exceeded."""

    exit_code = 5


class CancelledError(MinceError):
    """The user asked for the end; what was committed stays."""

    exit_code = 1
